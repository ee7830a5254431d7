/* slurm_task.c - the job's side of slurm.c: a task of the array job starts the workers of its runs
 * at the same time, forwards signals, and records how each run ended.
 *
 * USR1 comes two minutes before the time limit (sbatch --signal): workers write a checkpoint and exit, and the task
 * asks Slurm to requeue it. TERM is a cancellation or a preemption: workers checkpoint too. A task that Slurm requeues
 * starts again in the same folders; a cancelled one never does, and the host reports it.
 */
#include "lab/launch/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A run's command line, one argument per line, as written by slurm.c. */
typedef struct {
    str text;
    char **lines, **args; /* args: NULL at the end */
    const char *folder;
    bool ranked; /* it is mpirun's */
} arguments;

static char *part(const char *spool, const char *what, int64_t i)
{
    return xprintf("%s/%s-%lld", spool, what, (long long)i);
}

static void arguments_free(arguments *a)
{
    free(a->lines);
    free(a->args);
    str_free(&a->text);
}

/* again: an earlier start left checkpoints of this run. */
static int arguments_read(arguments *a, const char *spool, int64_t i, bool again, err *e)
{
    char *path = part(spool, "arguments", i);
    size_t n = 0, k = 0;
    *a = (arguments){.folder = spool};
    int bad = file_lines(path, &a->text, &a->lines, &n, e);
    free(path);
    if (bad) return -1;
    a->args = xcalloc(n + 1, sizeof *a->args);
    for (size_t at = 0; at < n; at++) {
        if (again && same(a->lines[at], "--fresh")) continue;
        if (at && same(a->lines[at - 1], "--folder")) a->folder = a->lines[at];
        a->ranked = a->ranked || same(a->lines[at], "--ranks");
        a->args[k++] = a->lines[at];
    }
    return 0;
}

static void child(const char *program, const arguments *a, const char *log, const char *events)
{
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666), to = open(events, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (out < 0 || to < 0) _exit(127);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGUSR1, SIG_IGN);
    dup2(out, 1), dup2(out, 2);
    if (to != 3) dup2(to, 3);
    if (a->ranked) {
        ranks_environment();
        execvp(a->args[0], a->args);
    } else {
        execv(program, a->args);
    }
    _exit(127);
}

/* Starts run i, appending its events to its file. 0: no process. */
static pid_t start(const char *program, const char *spool, int64_t i, bool *ranked, err *e)
{
    char *events = part(spool, "events", i);
    arguments a;
    pid_t pid = 0;
    if (!arguments_read(&a, spool, i, file_exists(events), e)) {
        char *log = path_join(a.folder, "log.txt");
        *ranked = a.ranked;
        if (a.ranked) ranks_clear(a.folder);
        pid = fork();
        if (pid == 0) child(program, &a, log, events);
        if (pid < 0) pid = 0, fail(e, "cannot start a worker: %s", strerror(errno));
        free(log);
    }
    arguments_free(&a);
    free(events);
    return pid;
}

static int write_exit(const char *spool, int64_t i, int code, int sig, err *e)
{
    char *path = part(spool, "exit", i), text[32];
    int n = snprintf(text, sizeof text, "%d %d\n", code, sig), bad = file_write(path, text, (size_t)n, e);
    free(path);
    return bad;
}

/* Asks Slurm to run this task again, from the checkpoints. */
static int requeue(void)
{
    const char *job = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");
    char *id = xprintf("%s_%s", job ? job : "", task ? task : "");
    char *said = job && task ? output_of((const char *const[]){"scontrol", "requeue", id, NULL}) : NULL;
    int bad = !said;
    free(said);
    free(id);
    return bad;
}

/* Threads of each worker if its command line leaves them open (--threads 0): its share of the task's cores. */
static void share_cores(int64_t per_task)
{
    int64_t cores = 1;
    const char *given = getenv("SLURM_CPUS_PER_TASK");
    if (given) parse_int(given, &cores);
    char *share = xprintf("%lld", (long long)(cores / per_task > 0 ? cores / per_task : 1));
    setenv("OMP_NUM_THREADS", share, 1);
    free(share);
}

enum { MOST = 1024 };
typedef struct {
    const char *spool;
    int64_t first, n, left; /* its runs; workers that have not ended */
    pid_t pid[MOST];
    bool ranked[MOST];            /* pid is mpirun's */
    bool time_is_up, told, again; /* again: a run was stopped before it was done */
} task;

static void tell_to_stop(task *t)
{
    for (int64_t k = 0; k < t->n && !t->told; k++)
        if (t->pid[k] > 0) kill(t->pid[k], t->ranked[k] ? SIGUSR1 : SIGTERM);
    t->told = true;
}

static void take_ended(task *t)
{
    int status;
    for (pid_t gone; (gone = waitpid(-1, &status, WNOHANG)) > 0;)
        for (int64_t k = 0; k < t->n; k++) {
            if (t->pid[k] != gone) continue;
            int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, sig = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
            err e = {0};
            if (t->ranked[k]) ranks_status(&code, &sig);
            t->pid[k] = 0, t->left--;
            if (t->told && worker_was_asked(code, sig))
                t->again = true; /* this task, or the host's next call, resumes it */
            else if (write_exit(t->spool, t->first + k, code, sig, &e))
                fprintf(stderr, "ablate: %s\n", e.text);
        }
}

static void start_all(task *t, const char *program)
{
    for (int64_t k = 0; k < t->n; k++) {
        char *arguments = part(t->spool, "arguments", t->first + k), *over = part(t->spool, "exit", t->first + k);
        err e = {0};
        if (file_exists(arguments) && !file_exists(over))
            t->pid[k] = start(program, t->spool, t->first + k, &t->ranked[k], &e);
        t->left += t->pid[k] > 0;
        if (e.text[0]) fprintf(stderr, "ablate: %s\n", e.text);
        free(arguments);
        free(over);
    }
}

int slurm_task_run(const char *program, const char *spool, int64_t number, int64_t per_task)
{
    task t = {.spool = spool, .first = number * per_task, .n = per_task < MOST ? per_task : MOST};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    share_cores(per_task);
    start_all(&t, program);
    while (t.left) {
        int s;
        if (sigwait(&set, &s)) break;
        t.time_is_up |= s == SIGUSR1;
        if (s != SIGCHLD) tell_to_stop(&t);
        take_ended(&t);
    }
    if (t.again && t.time_is_up && requeue())
        fprintf(stderr,
                "ablate: Slurm did not requeue this task; the next `ablate run` of its sweep resumes its runs\n");
    return 0;
}
