/* task.c - trains runs that are away (away.h): a task starts the workers of its runs at the same time, keeps them while
 * the runs are its own, forwards signals, and records how each run ended.
 *
 * In Slurm, USR1 comes two minutes before the time limit (sbatch --signal): workers write a checkpoint and exit, and
 * the task asks Slurm to requeue it. TERM is a cancellation or a preemption: workers checkpoint too. A task that Slurm
 * requeues starts again in the same folders; a cancelled one never does, and the host reports it. With another engine a
 * task is `ablate worker FOLDER`; the host withdraws its runs by removing FOLDER/job. */
#include "lab/launch/away.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A run's command line, one argument per line, as written by away.c. */
typedef struct {
    str text;
    char **lines, **args; /* args: NULL at the end */
    const char *folder;
    bool ranked; /* the command line starts mpirun */
} arguments;

static void arguments_free(arguments *a)
{
    free(a->lines);
    free(a->args);
    str_free(&a->text);
}

/* start: how many workers this run had before; they left checkpoints, and events in other files. */
static int arguments_read(arguments *a, const char *spool, int64_t i, int start, char *events, err *e)
{
    AUTOFREE char *path = away_part(spool, "arguments", i);
    size_t n = 0, k = 0;
    *a = (arguments){.folder = spool};
    if (file_lines(path, &a->text, &a->lines, &n, e)) return -1;
    a->args = xcalloc(n + 1, sizeof *a->args);
    for (size_t at = 0; at < n; at++) {
        if (start && same(a->lines[at], "--fresh")) continue;
        if (at && same(a->lines[at - 1], "--folder")) a->folder = a->lines[at];
        a->ranked = a->ranked || same(a->lines[at], "--ranks");
        a->args[k++] = at && same(a->lines[at - 1], "--events") ? events : a->lines[at];
    }
    return 0;
}

static void start_child(const char *program, const arguments *a, const char *log, const char *events, pid_t parent)
{
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666), to = open(events, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (out < 0 || to < 0) _exit(127);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGUSR1, SIG_IGN);
    dup2(out, 1), dup2(out, 2);
    if (to != 3) dup2(to, 3);
    setpgid(0, 0); /* a process group of its own: the task forwards signals */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(WORKER_STOPPED);
    if (a->ranked) {
        ranks_environment();
        execvp(a->args[0], a->args);
    } else {
        execv(program, a->args);
    }
    _exit(127);
}

/* Starts a worker for run i with its own file of events. 0: no process. */
static pid_t start(const char *program, const char *spool, int64_t i, bool *ranked, err *e)
{
    int number = 0;
    char *events = away_events(spool, i, number);
    while (file_exists(events)) free(events), events = away_events(spool, i, ++number);
    arguments a;
    pid_t pid = 0;
    if (!arguments_read(&a, spool, i, number, events, e)) {
        AUTOFREE char *log = path_join(a.folder, "log.txt");
        *ranked = a.ranked;
        if (a.ranked) ranks_clear(a.folder);
        pid_t parent = getpid();
        pid = fork();
        if (pid == 0) start_child(program, &a, log, events, parent);
        if (pid < 0) pid = 0, fail(e, "cannot start a worker: %s", strerror(errno));
    }
    arguments_free(&a);
    free(events);
    return pid;
}

/* ---- one task per run ---- */

enum { MOST = 1024 }; /* runs of a task */

typedef struct {
    const char *spool, *job; /* job: FOLDER/job, or NULL in Slurm */
    int64_t first, n, left;  /* first, n: runs of the task; left: workers that have not ended */
    pid_t *pid;              /* [n] */
    bool *ranked;            /* [n] is the pid mpirun's? */
    char me[192];
    bool time_is_up, told, again; /* again: a run stopped before its end and must resume */
    bool failed;                  /* a worker could not be started, or a worker's end could not be recorded */
} task;

/* Is the run this task's? If its owner file exists but cannot be read, returns `unread`. */
static bool is_mine(const task *t, int64_t i, bool unread)
{
    AUTOFREE char *path = away_part(t->spool, "owner", i);
    CLEANUP(str_free) str text = {0};
    err none = {0};
    return file_read(path, &text, &none) ? unread && file_exists(path) : same(str_text(&text), t->me);
}

/* Takes run i if no task has it, or its task has been silent for a lease. *e: why a free run cannot be taken. */
static bool take(const task *t, int64_t i, err *e)
{
    AUTOFREE char *path = away_part(t->spool, "owner", i);
    struct timespec first = {0}, last = {0};
    double silent = away_age(t->spool, "owner", i, &first, e), lease = away_lease();
    bool lives = false, got = false;
    while (!e->text[0] && silent >= 0 && silent < lease && !lives) {
        away_rest(away_pause() / 2);
        silent = away_age(t->spool, "owner", i, &last, e);
        lives = silent >= 0 && (last.tv_sec != first.tv_sec || last.tv_nsec != first.tv_nsec);
    }
    int fd = silent < 0 && !lives ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                                  : -1; /* the first of two tasks wins */
    if (fd < 0 && silent < 0 && !lives && errno != EEXIST) fail(e, "%s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    if (fd >= 0 || (silent >= lease && !lives)) {
        got = !file_write(path, t->me, strlen(t->me), e);
        if (silent >= lease) away_rest(away_pause()); /* if two tasks take over, the last to write has the run */
        got = got && is_mine(t, i, false);
    }
    return got;
}

static void leave(const task *t, int64_t i)
{
    AUTOFREE char *path = away_part(t->spool, "owner", i);
    if (is_mine(t, i, false)) unlink(path);
}

/* Touches the owner files of this task's runs; kills workers whose runs another task took while this one was silent. */
static void keep(task *t)
{
    for (int64_t k = 0; k < t->n; k++) {
        AUTOFREE char *path = away_part(t->spool, "owner", t->first + k);
        if (t->pid[k] <= 0) continue;
        if (is_mine(t, t->first + k, true))
            utimensat(AT_FDCWD, path, NULL, 0);
        else
            kill(t->pid[k], SIGKILL);
    }
}

static int write_exit(const char *spool, int64_t i, int code, int sig, err *e)
{
    AUTOFREE char *path = away_part(spool, "exit", i);
    char text[32];
    int n = snprintf(text, sizeof text, "%d %d\n", code, sig);
    return file_write(path, text, (size_t)n, e);
}

/* Asks Slurm to run this task again, from the checkpoints. */
static int requeue(void)
{
    const char *job = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");
    int64_t n[2];
    if (!parse_int(job, &n[0]) || !parse_int(task, &n[1]) || n[0] < 0 || n[1] < 0) return -1;
    AUTOFREE char *id = xprintf("%lld_%lld", (long long)n[0], (long long)n[1]);
    AUTOFREE char *said = output_of((const char *const[]){"scontrol", "requeue", id, NULL});
    return !said;
}

/* Sets each worker's threads, if its command line leaves them open (--threads 0): its share of the task's cores. */
static void share_cores(int64_t per_task)
{
    enum { LIMIT = 4096 };
    int64_t cores = 1;
    const char *given = getenv("SLURM_CPUS_PER_TASK");
    if (given && (!parse_int(given, &cores) || cores < 1 || cores > LIMIT))
        log_line(LOG_WARN, "SLURM_CPUS_PER_TASK: found \"%s\", expected 1 to %d: using 1", given, LIMIT), cores = 1;
    AUTOFREE char *share = xprintf("%lld", (long long)(cores / per_task > 0 ? cores / per_task : 1));
    setenv("OMP_NUM_THREADS", share, 1);
}

static void ask_to_stop(task *t)
{
    for (int64_t k = 0; k < t->n && !t->told; k++)
        if (t->pid[k] > 0) kill(t->pid[k], t->ranked[k] ? SIGUSR1 : SIGTERM);
    t->told = true;
}

static void reap_ended(task *t)
{
    int status;
    for (pid_t gone; (gone = waitpid(-1, &status, WNOHANG)) > 0;)
        for (int64_t k = 0; k < t->n; k++) {
            if (t->pid[k] != gone) continue;
            int code, sig;
            err e = {0};
            ranks_status(status, t->ranked[k], &code, &sig);
            t->pid[k] = 0, t->left--;
            if (!is_mine(t, t->first + k, true)) continue;
            if (t->told && worker_was_asked(code, sig))
                t->again = true, leave(t, t->first + k); /* this task or a later one resumes the run */
            else if (write_exit(t->spool, t->first + k, code, sig, &e))
                t->failed = true, fprintf(stderr, "ablate: %s\n", e.text);
        }
}

static void start_all(task *t, const char *program)
{
    for (int64_t k = 0; k < t->n; k++) {
        AUTOFREE char *arguments = away_part(t->spool, "arguments", t->first + k),
                      *over = away_part(t->spool, "exit", t->first + k);
        err e = {0};
        if (file_exists(arguments) && !file_exists(over) && take(t, t->first + k, &e))
            t->pid[k] = start(program, t->spool, t->first + k, &t->ranked[k], &e);
        t->left += t->pid[k] > 0;
        if (e.text[0]) t->failed = true, fprintf(stderr, "ablate: %s\n", e.text);
    }
}

static void run(task *t, const char *program)
{
    sigset_t set;
    struct timespec moment = away_timespec(away_pause());
    pid_t pid[MOST] = {0};
    bool ranked[MOST] = {0};
    t->pid = pid, t->ranked = ranked;
    db_owner(t->me);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    start_all(t, program);
    while (t->left) {
        int s = sigtimedwait(&set, NULL, &moment);
        t->time_is_up |= s == SIGUSR1;
        if ((s > 0 && s != SIGCHLD) || (t->job && !file_exists(t->job))) ask_to_stop(t);
        keep(t);
        reap_ended(t);
    }
}

int task_run(const char *program, const char *spool, int64_t number, int64_t per_task)
{
    task t = {.spool = spool, .first = number * per_task, .n = per_task < MOST ? per_task : MOST};
    share_cores(per_task);
    run(&t, program);
    if (t.again && t.time_is_up && requeue())
        fprintf(stderr,
                "ablate: Slurm did not requeue this task; the next `ablate run` of its sweep resumes its runs\n");
    return 0;
}

int task_run_folder(const char *program, const char *folder, err *e)
{
    CLEANUP(str_free) str text = {0};
    AUTOFREE char *job = path_join(folder, "job");
    char *line = NULL;
    task t = {.job = job, .n = 1};
    int code =
        file_exists(job)
            ? file_read(job, &text, e)
            : fail(e,
                   "%s: no run waits for a task here: the run has ended, or `ablate run --launcher` did not prepare it",
                   folder);
    if (!code) line = strchr(text.s, '\n');
    if (!code && (!line || (*line = 0, !parse_int(trim(line + 1), &t.first))))
        code = fail(e, "%s: found a job that this program did not write", job);
    if (!code) {
        t.spool = text.s;
        run(&t, program);
        code = t.again ? WORKER_STOPPED : t.failed ? 1 : 0;
    }
    return code;
}
