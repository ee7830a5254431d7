/* provenance.c - finds the code of a run: the checkout's commit and uncommitted changes. */
#include "lab/launch/internal.h"
#include "base/shell.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

char *output_of(const char *const *args)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return NULL;
    pid_t pid = fork();
    if (pid == 0) {
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 0), dup2(ends[1], 1), dup2(nothing, 2);
        execvp(args[0], (char *const *)args);
        _exit(127);
    }
    close(ends[1]);
    str text = {0};
    file_read_rest(ends[0], SIZE_MAX, &text);
    close(ends[0]);
    int status = 1;
    if (pid > 0) status = process_wait(pid);
    if (status == 0) return text.s ? text.s : xstrdup("");
    str_free(&text);
    return NULL;
}

/* Asks git about the checkout that the program was built in, and about no other folder: a repository's settings can
 * start programs (core.fsmonitor, filters). */
void provenance_find(provenance *p, const launch_options *o)
{
    static const char *const places[][3] = {{".", "../.git", "../core/main.c"},
                                            {"source", "source/.git", "source/core/main.c"}};
    AUTOFREE char *built = path_folder(o->program);
    for (size_t i = 0; i < LENGTH(places) && !p->commit; i++) {
        AUTOFREE char *folder = path_join(built, places[i][0]), *git = path_join(built, places[i][1]),
                      *code = path_join(built, places[i][2]);
        if (file_exists(git) && file_exists(code))
            p->commit = output_of((const char *const[]){"git", "-C", folder, "rev-parse", "HEAD", NULL});
        if (p->commit)
            p->diff = output_of((const char *const[]){"git", "--no-optional-locks", "-C", folder, "diff",
                                                      "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", NULL});
        if (p->commit) trim(p->commit);
    }
    struct utsname u;
    snprintf(p->host, sizeof p->host, "%s", uname(&u) ? "?" : u.nodename);
}

void provenance_write(const provenance *p, worker *w)
{
    w->facts.host = p->host;
    w->facts.pid = w->pid;
    w->facts.git_commit = p->commit;
    w->facts.git_dirty = p->diff ? *p->diff != 0 : -1;
    w->facts.diff = p->diff && *p->diff ? p->diff : NULL;
    w->facts.build_json = "{\"version\":\"" ABLATE_VERSION "\",\"compiler\":\"" __VERSION__ "\"}";
    w->facts.argv_json = w->argv_json;
    w->facts.log_path = w->log;
    w->facts.slurm_job = getenv("SLURM_JOB_ID");
}

void provenance_free(provenance *p)
{
    free(p->commit);
    free(p->diff);
    *p = (provenance){0};
}
