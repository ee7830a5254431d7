/* The Nth write, sync or truncation fails, for N = 1, 2, ... until none does. Data reported as written must be there
 * afterwards, a failed write must leave none of its data or all, and the file must be intact. Modelled on the fault
 * loops of SQLite's own tests. */
#include "fixture.h"
#include <errno.h>

static long calls, fail_at; /* number of operations so far; number of the operation that fails, 0: none fails */
static bool readers_first;
static bool stays_broken; /* every later operation fails, too, as on a full disk */

static int faulty(void)
{
    calls++;
    return fail_at && (calls == fail_at || (stays_broken && calls > fail_at));
}

typedef struct {
    sqlite3_file base;
    sqlite3_file *real;
} wrapped;
#define REAL(f) (((wrapped *)(f))->real)

static int x_close(sqlite3_file *f) { return REAL(f)->pMethods->xClose(REAL(f)); }
static int x_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return REAL(f)->pMethods->xRead(REAL(f), p, n, at);
}
static int x_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    if (faulty()) return stays_broken ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    return REAL(f)->pMethods->xWrite(REAL(f), p, n, at);
}
static int x_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return faulty() ? SQLITE_IOERR_TRUNCATE : REAL(f)->pMethods->xTruncate(REAL(f), n);
}
static int x_sync(sqlite3_file *f, int flags)
{
    return faulty() ? SQLITE_IOERR_FSYNC : REAL(f)->pMethods->xSync(REAL(f), flags);
}
static int x_size(sqlite3_file *f, sqlite3_int64 *n) { return REAL(f)->pMethods->xFileSize(REAL(f), n); }
static int x_lock(sqlite3_file *f, int l) { return REAL(f)->pMethods->xLock(REAL(f), l); }
static int x_unlock(sqlite3_file *f, int l) { return REAL(f)->pMethods->xUnlock(REAL(f), l); }
static int x_reserved(sqlite3_file *f, int *out) { return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out); }
static int x_control(sqlite3_file *f, int op, void *p) { return REAL(f)->pMethods->xFileControl(REAL(f), op, p); }
static int x_sector(sqlite3_file *f) { return REAL(f)->pMethods->xSectorSize(REAL(f)); }
static int x_device(sqlite3_file *f) { return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f)); }
static int x_shm_map(sqlite3_file *f, int i, int n, int grow_it, void volatile **p)
{
    return REAL(f)->pMethods->xShmMap(REAL(f), i, n, grow_it, p);
}
static int x_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return REAL(f)->pMethods->xShmLock(REAL(f), at, n, flags);
}
static void x_shm_barrier(sqlite3_file *f) { REAL(f)->pMethods->xShmBarrier(REAL(f)); }
static int x_shm_unmap(sqlite3_file *f, int remove_it) { return REAL(f)->pMethods->xShmUnmap(REAL(f), remove_it); }
static const sqlite3_io_methods methods = {
    2,         x_close,  x_read,   x_write,   x_truncate, x_sync,        x_size,      x_lock, x_unlock, x_reserved,
    x_control, x_sector, x_device, x_shm_map, x_shm_lock, x_shm_barrier, x_shm_unmap, NULL,   NULL};

static sqlite3_vfs *below;
static int x_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out)
{
    (void)v;
    wrapped *w = (wrapped *)f;
    w->real = (sqlite3_file *)(w + 1);
    int rc = below->xOpen(below, name, w->real, flags, out);
    w->base.pMethods = rc == SQLITE_OK ? &methods : NULL;
    return rc;
}

static char *folder, *path;
static db_options options;

/* Which calls of the scenario reported success. */
typedef struct {
    bool opened, frozen, claimed, points, result, finished;
} told;

static told scenario(void)
{
    told t = {0};
    err e = {0};
    size_t n;
    db_frozen *runs = NULL;
    db_claim c = {0};
    db *d = db_open(&options, &e);
    if (!d) return t;
    t.opened = true;
    db_experiment_spec x = fixture_spec("toy");
    t.frozen = db_freeze(d, &x, &runs, &n, &e) == 0;
    if (t.frozen) t.claimed = db_claim_next(d, "toy", NULL, "me", 100, &c, &e) == 1;
    if (t.claimed) {
        db_point p[] = {{"loss", 1, 2}, {"loss", 2, 1}};
        db_result r = {.metric = "PPL", .value = 4.5};
        t.points = db_points(d, &c, p, 2, &e) == 0;
        t.result = db_put_result(d, &c, &r, &e) == 0;
        t.finished = db_finish(d, &c, DB_DONE, 0, -1, NULL, &e) == 0;
    }
    db_claim_free(&c);
    free(runs);
    db_close(d);
    return t;
}

static void check_after(const told *t)
{
    err e = {0};
    fail_at = 0;
    if (readers_first) { /* after any fault, a command that only reads must be able to open the database */
        reader *r = reader_open(&options, &e);
        if (!has_prefix(e.text, "no database at ")) CHECK_TEXT(e.text, "");
        e.text[0] = 0;
        reader_close(r);
    }
    db *d = db_open(&options, &e); /* repairs or creates the file */
    CHECK_TEXT(e.text, "");
    db_close(d);
    CHECK_SQL(path, "PRAGMA integrity_check", "ok");
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM published_table3"), 20, 0); /* made in whole or not at all */
    double runs = fixture_number(path, "SELECT count(*) FROM run"), done;
    CHECK(runs == 0 || runs == 6);
    if (t->frozen) CHECK_NEAR(runs, 6, 0);
    done = fixture_number(path, "SELECT count(*) FROM run WHERE status='done'");
    if (t->finished) CHECK_NEAR(done, 1, 0);
    if (t->claimed) CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM attempt"), 1, 0);
    double points = fixture_number(path, "SELECT count(*) FROM point");
    CHECK(points == 0 || points == 2);
    if (t->points) CHECK_NEAR(points, 2, 0);
    if (t->result) CHECK_NEAR(fixture_number(path, "SELECT value FROM result"), 4.5, 0);
}

/* Lets operations fail in turn: in the short suite every fifth operation, from number `from` on; in `--all` every
 * second operation, from a random start; before a release every operation. */
static void loop(bool broken_disk, long from)
{
    stays_broken = broken_disk;
    long step = test_exhaustive() ? 1 : test_long() ? 2 : 5;
    if (test_long()) from = test_drawn(0, (size_t)step) ? 1 : 2;
    for (long n = from;; n += step) {
        static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
        for (size_t i = 0; i < LENGTH(endings); i++) {
            char file[300];
            snprintf(file, sizeof file, "%s%s", path, endings[i]);
            if (unlink(file) && errno != ENOENT) CHECK(false);
        }
        calls = 0, fail_at = n;
        told t = scenario();
        bool reached = calls >= n;
        check_after(&t);
        if (!reached) {
            CHECK(t.finished && t.result && t.points);
            printf("%ld operations, one in %ld failed in turn%s\n", calls, step,
                   broken_disk ? ", and all after each" : "");
            return;
        }
    }
}

int main(void)
{
    log_to(stderr, LOG_ERROR);
    folder = fixture_folder();
    path = path_join(folder, "results.db");
    options = (db_options){.path = path};
    below = sqlite3_vfs_find(NULL);
    sqlite3_vfs v = *below;
    v.zName = "faulty";
    v.pNext = NULL;
    v.szOsFile = (int)sizeof(wrapped) + below->szOsFile;
    v.xOpen = x_open;
    sqlite3_vfs_register(&v, 1);
    for (int no_wal = 0; no_wal < 2; no_wal++) {
        options.no_wal = no_wal;
        loop(false, 1);
        loop(true, 2);
        readers_first = true;
        loop(true, 3);
        readers_first = false;
    }
    sqlite3_vfs_unregister(&v);
    free(path);
    fixture_remove(folder);
    return test_end();
}
