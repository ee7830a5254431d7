/* artifact.c - the workbench of publish and verify: a database of one experiment in a folder of its own. */
#include "cli/artifact.h"
#include "lab/report/table.h"
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>

int workbench_open(workbench *w, err *e)
{
    const char *tmp = getenv("TMPDIR");
    w->folder = xprintf("%s/ablate-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(w->folder)) {
        fail(e, "%s: cannot create a folder there: %s", tmp && *tmp ? tmp : "/tmp", strerror(errno));
        free(w->folder);
        *w = (workbench){0};
        return -1;
    }
    w->path = path_join(w->folder, "results.db");
    w->db = (db_options){.path = w->path};
    return 0;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
    (void)s, (void)type, (void)at;
    remove(path);
    return 0;
}

void remove_tree(const char *folder) { nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

void workbench_close(workbench *w)
{
    if (w->folder) remove_tree(w->folder);
    free(w->folder);
    free(w->path);
    *w = (workbench){0};
}

const char *workbench_import(const workbench *w, const char *file, arena *a, err *e)
{
    size_t runs = 0;
    db *d = db_open(&w->db, e);
    int rc = d ? db_import(d, file, &runs, e) : -1;
    db_close(d);
    read_experiment x;
    reader *r = rc ? NULL : reader_open(&w->db, e);
    rc = r ? reader_experiment(r, NULL, READ_VALUES, a, &x, e) : -1;
    reader_close(r);
    return rc ? NULL : x.name;
}

int workbench_table(const workbench *w, const char *experiment, str *out, err *e)
{
    reader *r = reader_open(&w->db, e);
    int rc = r ? table_print(r, experiment, &(table_options){.full = true}, TABLE_CSV, out, e) : -1;
    reader_close(r);
    return rc ? -1 : 0;
}
