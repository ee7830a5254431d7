/* slurm_task.c - the job's side of slurm.c: a task of the array job starts the workers of its runs
 * side by side, hands signals on, and writes how each run ended.
 *
 * USR1 comes two minutes before the time limit (sbatch --signal): workers write a checkpoint and leave, and the task asks Slurm to queue
 * it again. TERM is a cancellation or a preemption: workers checkpoint too; a task that Slurm requeues by itself starts again in the same
 * folders, one that was cancelled never does, and the host says so.
 */
#include "launch/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *part(const char *spool, const char *what, int64_t i) { return xprintf("%s/%s-%lld", spool, what, (long long)i); }

/* Starts run i with its events appended to its file. *log and the rest of the descriptors are the child's own. 0: no process. */
static pid_t start(const char *program, const char *spool, int64_t i, err *e)
{
    char *path = part(spool, "arguments", i), *events = part(spool, "events", i), **lines = NULL;
    str text = {0};
    size_t n = 0;
    pid_t pid = 0;
    if (!file_lines(path, &text, &lines, &n, e)) {
        char **args = xcalloc(n + 1, sizeof *args), *folder = NULL;
        size_t k = 0;
        bool again = file_exists(events); /* a start before this one left checkpoints that are this run's */
        for (size_t at = 0; at < n; at++) {
            if (again && same(lines[at], "--fresh")) continue;
            if (at && same(lines[at - 1], "--folder")) folder = lines[at];
            args[k++] = lines[at];
        }
        char *log = path_join(folder ? folder : spool, "log.txt");
        pid = fork();
        if (pid == 0) {
            int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666), to = open(events, O_WRONLY | O_CREAT | O_APPEND, 0666);
            if (out < 0 || to < 0) _exit(127);
            sigset_t none;
            sigemptyset(&none);
            sigprocmask(SIG_SETMASK, &none, NULL);
            signal(SIGUSR1, SIG_IGN);
            dup2(out, 1), dup2(out, 2);
            if (to != 3) dup2(to, 3);
            execv(program, args);
            _exit(127);
        }
        if (pid < 0) pid = 0, fail(e, "a worker could not be started: %s", strerror(errno));
        free(log);
        free(args);
    }
    free(lines);
    str_free(&text);
    free(path);
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

/* Threads of each worker, where its command line leaves that open (--threads 0): its share of what Slurm gave the task. */
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
    bool time_is_up, told, again; /* again: a run was stopped and is not over */
} task;

static void tell_to_stop(task *t)
{
    for (int64_t k = 0; k < t->n && !t->told; k++)
        if (t->pid[k] > 0) kill(t->pid[k], SIGTERM);
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
            t->pid[k] = 0, t->left--;
            if (t->told && (code == WORKER_STOPPED || sig == SIGTERM))
                t->again = true; /* this task, or the host's next call, goes on with it */
            else if (write_exit(t->spool, t->first + k, code, sig, &e))
                fprintf(stderr, "ablate: %s\n", e.text);
        }
}

static void start_all(task *t, const char *program)
{
    for (int64_t k = 0; k < t->n; k++) {
        char *arguments = part(t->spool, "arguments", t->first + k), *over = part(t->spool, "exit", t->first + k);
        err e = {0};
        if (file_exists(arguments) && !file_exists(over)) t->pid[k] = start(program, t->spool, t->first + k, &e);
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
        fprintf(stderr, "ablate: Slurm did not queue this task again; the next `ablate run` of its sweep resumes its runs\n");
    return 0;
}
