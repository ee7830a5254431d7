/* ranks.c - a run of several processes: `mpirun -np N ablate worker ...` instead of a single worker process.
 *
 * mpirun passes on no descriptors, so events come through a named pipe in the run's folder, which rank 0 opens. mpirun
 * holds the pipe too, as its descriptor 3: the host sees the end of the pipe when mpirun and rank 0 have exited. */
#include "network/settings/config.h"
#include "lab/launch/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int ranks_of(const char *config_json)
{
    settings s = {0};
    CLEANUP(arena_free) arena a = {0};
    err ignored = {0};
    int64_t n = 1;
    const char *text =
        config_json && !config_from_json(config_json, &s, &a, &ignored) ? settings_get(&s, "ranks") : NULL;
    if (text) parse_int(text, &n);
    return n > 1 ? (int)n : 1;
}

int ranks_command(worker *w, const char *program, char **args, int n, int most)
{
    const char *given = getenv("ABLATE_MPIRUN");
    char *command = arena_strdup(&w->texts, given && *given ? given : "mpirun"), *save = NULL;
    for (char *one = strtok_r(command, " \t", &save); one && n < most; one = strtok_r(NULL, " \t", &save))
        args[n++] = one;
    args[n++] = "-np";
    args[n++] = arena_printf(&w->texts, "%d", w->ranks);
    args[n++] = arena_strdup(&w->texts, program);
    return n;
}

/* Settings for Open MPI, ignored by others: do not bind processes to one core each, because they have threads; allow
 * more processes than cores; allow root; let a waiting rank give up its core. */
void ranks_environment(void)
{
    static const char *const all[][2] = {{"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                         {"PRTE_MCA_hwloc_default_binding_policy", "none"},
                                         {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                         {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                                         {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                         {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                         {"OMPI_MCA_mpi_yield_when_idle", "1"}};
    for (size_t i = 0; i < LENGTH(all); i++) setenv(all[i][0], all[i][1], 0);
}

void ranks_clear(const char *folder)
{
    AUTOFREE char *meeting = path_join(folder, "meeting"); /* see comm.h */
    unlink(meeting);
}

int ranks_pipe(const worker *w, int ends[2], err *e)
{
    ranks_clear(w->folder);
    unlink(w->events); /* left by a killed host */
    ends[0] = ends[1] = -1;
    if (mkfifo(w->events, 0600)) return fail(e, "%s: cannot create a pipe there: %s", w->events, strerror(errno));
    ends[0] = open(w->events, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ends[1] = ends[0] < 0 ? -1 : open(w->events, O_WRONLY | O_CLOEXEC);
    if (ends[1] >= 0) return 0;
    fail(e, "%s: %s", w->events, strerror(errno));
    if (ends[0] >= 0) close(ends[0]);
    return -1;
}

void ranks_status(int status, bool ranked, int *code, int *sig)
{
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, *sig = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
    if (ranked && *code > 128 && *code < 128 + 65) *sig = *code - 128, *code = -1;
}

void worker_ask_stop(worker *w)
{
    w->asked_at = ticks();
    kill(w->pid, w->ranks > 1 ? SIGUSR1 : SIGTERM);
}

void worker_kill(const worker *w) { kill(w->ranks > 1 ? -w->pid : w->pid, SIGKILL); }

bool worker_was_asked(int code, int sig) { return code == WORKER_STOPPED || sig == SIGTERM || sig == SIGUSR1; }
