/* import_fuzz.c - fuzzes recorded experiments: bytes are imported into a database that stays consistent, or refused
 * with a message and no change. */
#include "file.h"
#include "lab/results/internal.h"

static char path[64];
static void remove_it(void) { unlink(path); }

static db *fresh(void)
{
    err e = {0};
    if (!*path) atexit(remove_it);
    snprintf(path, sizeof path, "/tmp/ablate-fuzz-%ld.db", (long)getpid());
    unlink(path);
    db_options o = {.path = path, .no_wal = true};
    db *d = db_open(&o, &e);
    must(d != NULL, e.text);
    return d;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { INPUTS = 100 }; /* for each database, because views of deleted experiments stay */
    static db *d;
    static int done;
    if (done++ % INPUTS == 0) db_close(d), d = fresh();
    size_t runs = 0;
    err e = {0}, none = {0};
    int64_t left = 0, broken_keys = 0;
    if (db_import(d, fuzz_file(data, n), false, &runs, &e))
        must(e.text[0], "refused without a word");
    else
        must(!sql_int(d->q, &none, &broken_keys, "SELECT 1 FROM pragma_foreign_key_check LIMIT 1", "") &&
                 !sql_do(d->q, &none, "DELETE FROM experiment", ""),
             "foreign keys do not hold");
    sql_int(d->q, &none, &left, "SELECT count(*) FROM experiment", "");
    must(left == 0, "something stays of a refused record");
    return 0;
}
