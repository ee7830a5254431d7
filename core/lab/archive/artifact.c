/* artifact.c - the workbench: a temporary folder in which publish and verify import one experiment. */
#include "lab/archive/artifact.h"
#include "base/shell.h"
#include "lab/report/table.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The keeper process: waits until no process holds the other end of the pipe, then removes both folders. */
static void keep(int life, const char *folder, const char *part)
{
    char byte;
    setsid(); /* receives no signals of the terminal */
    while (read(life, &byte, 1) < 0 && errno == EINTR) continue;
    remove_tree(folder);
    if (part) remove_tree(part);
    _exit(0);
}

int workbench_open(workbench *w, const char *part, err *e)
{
    const char *tmp = getenv("TMPDIR");
    int ends[2] = {-1, -1};
    w->folder = xprintf("%s/ablate-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (pipe2(ends, O_CLOEXEC) || !mkdtemp(w->folder)) {
        fail(e, "%s: cannot create a folder there: %s", tmp && *tmp ? tmp : "/tmp", strerror(errno));
        if (ends[0] >= 0) close(ends[0]), close(ends[1]);
        free(w->folder);
        *w = (workbench){0};
        return -1;
    }
    fflush(NULL);
    w->keeper = fork();
    if (!w->keeper) close(ends[1]), keep(ends[0], w->folder, part);
    close(ends[0]);
    w->life = ends[1];
    w->path = path_join(w->folder, "results.db");
    w->db = (db_options){.path = w->path};
    return w->keeper > 0 ? 0 : fail(e, "cannot start a process: %s", strerror(errno));
}

void workbench_lend(const workbench *w)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    fcntl(w->life, F_SETFD, 0);
}

void workbench_close(workbench *w)
{
    if (!w->folder) return;
    close(w->life);
    if (w->keeper < 0) remove_tree(w->folder);
    if (w->keeper > 0) process_wait(w->keeper);
    free(w->folder);
    free(w->path);
    *w = (workbench){0};
}

const char *workbench_import(const workbench *w, const char *file, arena *a, err *e)
{
    size_t runs = 0;
    db *d = db_open(&w->db, e);
    int rc = d ? db_import(d, file, false, &runs, e) : -1;
    db_close(d);
    read_experiment x;
    CLEANUP(reader_end) reader *r = rc ? NULL : reader_open(&w->db, e);
    rc = r ? reader_experiment(r, NULL, READ_VALUES, a, &x, e) : -1;
    return rc ? NULL : x.name;
}

int workbench_table(const workbench *w, const char *experiment, str *out, err *e)
{
    CLEANUP(reader_end) reader *r = reader_open(&w->db, e);
    int rc = r ? table_print(r, experiment, &(table_options){.full = true}, TABLE_CSV, out, e) : -1;
    return rc ? -1 : 0;
}
