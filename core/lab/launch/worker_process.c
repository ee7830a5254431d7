/* worker_process.c - starts the process of a run. */
#include "lab/launch/internal.h"
#include "network/settings/config.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENT_FD = 3, MAX_ARGS = 64 };

/* FOLDER/EXPERIMENT/HASH-sSEED-gGENERATION: a run finds its own checkpoints again and never another's. The hash
 * excludes keys that cannot change a result. */
int worker_folder(worker *w, const launch_options *o, err *e)
{
    w->folder = xprintf("%s/%s/%.12s-s%lld-g%lld", o->folder, o->experiment, w->claim.config_hash,
                        (long long)w->claim.seed, (long long)w->claim.generation);
    w->log = path_join(w->folder, "log.txt");
    w->ranks = ranks_of(w->claim.config_json);
    if (w->ranks > 1 && !w->events) w->events = path_join(w->folder, "events");
    if (make_folders(w->folder, e)) return -1;
    AUTOFREE char *config = path_join(w->folder, "config.json");
    if (w->claim.anew) unlink(w->log); /* left by a deleted database or run */
    int bad = file_write(config, w->claim.config_json, strlen(w->claim.config_json), e);
    AUTOFREE char *given = path_join(w->folder, TRAINED_FILE);
    unlink(given);
    if (w->model && link(w->model, given)) log_line(LOG_WARN, "%s: trains: cannot link %s", w->claim.name, w->model);
    return bad;
}

static void child(char *const *args, const char *program, bool ranked, int events, int jobs, int log, pid_t host)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C and hang-up go to all its processes; the host decides */
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != host) _exit(WORKER_STOPPED);
    int nothing = open("/dev/null", O_RDONLY);
    dup2(jobs < 0 ? nothing : jobs, 0);
    dup2(log, 1);
    dup2(log, 2);
    if (events == EVENT_FD)
        fcntl(EVENT_FD, F_SETFD, 0);
    else
        dup2(events, EVENT_FD);
    for (int fd = EVENT_FD + 1; fd < 1024; fd++) close(fd); /* closes inherited files, above all the database's */
    if (ranked) {
        setpgid(0, 0); /* for worker_kill */
        ranks_environment();
        execvp(args[0], args);
    } else {
        execv(program, args);
    }
    _exit(127);
}

static void write_argv(worker *w, char *const *args)
{
    str json = {0};
    for (int i = 0; args[i]; i++) {
        str_addc(&json, i ? ',' : '[');
        json_string(&json, args[i]);
    }
    str_addc(&json, ']');
    w->argv_json = json.s;
}

/* Does a process train run after run? It does on GPUs, because a start takes long there. */
static bool stays(const worker *w, const launch_options *o)
{
    return launch_gpus(o) > 0 && w->ranks < 2 && !o->slurm && !o->command;
}

/* Does the process read numbers of threads from its standard input? */
static bool lends(const worker *w, const launch_options *o) { return o->cores > 0 && w->ranks < 2 && !stays(w, o); }

char **worker_arguments(worker *w, int slot, const launch_options *o, int threads)
{
    char gpu[24], **args = arena_alloc(&w->texts, MAX_ARGS * sizeof *args);
    int n = 0;
    snprintf(gpu, sizeof gpu, "cuda:%d", o->gpus > 0 ? slot * w->ranks % o->gpus : 0); /* each rank uses the next GPU */
    bool any = o->gpus > 0 && !same(o->device, "cpu") && !strchr(o->device, ':');
    snprintf(w->device, sizeof w->device, "%s", any ? gpu : same(o->device, "auto") ? "cpu" : o->device);
    bool ranked = w->ranks > 1;
    if (ranked && threads > 1 && o->threads <= 0) threads = threads / w->ranks > 0 ? threads / w->ranks : 1;
    const char *fixed[] = {"worker",
                           "--folder",
                           w->folder,
                           "--data",
                           o->data_dir,
                           "--cache",
                           o->cache_dir,
                           "--seed",
                           arena_printf(&w->texts, "%lld", (long long)w->claim.seed),
                           "--threads",
                           arena_printf(&w->texts, "%d", threads),
                           "--device",
                           any ? gpu : o->device,
                           ranked ? "--events" : "--fd",
                           ranked ? w->events : "3"};
    if (ranked)
        n = ranks_command(w, o->program, args, n, MAX_ARGS / 2);
    else
        args[n++] = arena_strdup(&w->texts, "ablate");
    for (size_t i = 0; i < LENGTH(fixed); i++) args[n++] = arena_strdup(&w->texts, fixed[i]);
    if (ranked) args[n++] = "--ranks", args[n++] = arena_printf(&w->texts, "%d", w->ranks);
    for (int i = 0; o->worker_args && o->worker_args[i] && n < MAX_ARGS - 2; i++)
        args[n++] = arena_strdup(&w->texts, o->worker_args[i]);
    if (w->claim.anew) args[n++] = arena_strdup(&w->texts, "--fresh");
    if (stays(w, o)) args[n++] = arena_strdup(&w->texts, "--stay");
    if (lends(w, o)) args[n++] = arena_strdup(&w->texts, "--lend");
    args[n] = NULL;
    write_argv(w, args);
    return args;
}

static int begun(worker *w, pid_t pid, int fd, int jobs)
{
    w->pid = pid, w->fd = fd, w->jobs = jobs;
    w->started = w->news = ticks();
    snprintf(w->phase, sizeof w->phase, "starting");
    return 0;
}

resting worker_detach_process(worker *w)
{
    resting r = {w->pid, w->fd, w->jobs};
    w->fd = -1, w->jobs = 0;
    return r;
}

void worker_dismiss(resting *r)
{
    enum { PATIENCE = 10 }; /* seconds */
    if (!r->pid) return;
    close(r->jobs);
    close(r->fd);
    double since = ticks();
    pid_t gone;
    while ((gone = waitpid(r->pid, NULL, WNOHANG)) == 0 || (gone < 0 && errno == EINTR)) {
        if (ticks() - since > PATIENCE) kill(r->pid, SIGKILL);
        usleep(5000);
    }
    *r = (resting){0};
}

/* Sends the run to the resting process; false if that has ended. */
static bool hand_over(const worker *w, const resting *r)
{
    CLEANUP(str_free) str line = {0};
    event_run_line(&line, w->folder, w->claim.seed, w->claim.anew);
    struct pollfd ended = {.fd = r->fd, .events = POLLIN};
    return poll(&ended, 1, 0) == 0 && send(r->jobs, line.s, line.n, MSG_NOSIGNAL) == (ssize_t)line.n;
}

int worker_start(worker *w, resting *r, int slot, const launch_options *o, int threads, err *e)
{
    int ends[2], jobs[2] = {-1, -1};
    if (worker_folder(w, o, e)) return -1;
    if (r->pid && w->ranks < 2 && hand_over(w, r)) {
        worker_arguments(w, slot, o, threads);
        begun(w, r->pid, r->fd, r->jobs);
        *r = (resting){0};
        return 0;
    }
    worker_dismiss(r);
    int log = open(w->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log < 0) return fail(e, "%s: cannot write: %s", w->log, strerror(errno));
    if (w->ranks > 1 ? ranks_pipe(w, ends, e) : pipe2(ends, O_CLOEXEC)) {
        close(log);
        return fail(e, "cannot create a pipe for a worker: %s", strerror(errno));
    }
    if ((stays(w, o) || lends(w, o)) && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, jobs)) {
        close(log), close(ends[0]), close(ends[1]);
        return fail(e, "cannot create sockets for a worker: %s", strerror(errno));
    }
    if (lends(w, o)) fcntl(jobs[1], F_SETFL, O_NONBLOCK);
    char **args = worker_arguments(w, slot, o, threads);
    pid_t host = getpid();
    w->pid = fork();
    if (w->pid == 0) child(args, o->program, w->ranks > 1, ends[1], jobs[1], log, host);
    close(ends[1]);
    close(log);
    if (jobs[1] >= 0) close(jobs[1]);
    if (w->pid > 0 && w->ranks > 1) setpgid(w->pid, w->pid); /* parent and child call setpgid: either may run first */
    if (w->pid < 0) {
        close(ends[0]);
        if (jobs[0] >= 0) close(jobs[0]);
        w->pid = 0;
        return fail(e, "cannot start a worker: %s", strerror(errno));
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return begun(w, w->pid, ends[0], jobs[0] > 0 ? jobs[0] : 0);
}

void worker_clear(worker *w)
{
    db_claim_free(&w->claim);
    free(w->folder);
    free(w->log);
    free(w->argv_json);
    if (w->events && w->fd >= 0) unlink(w->events);
    free(w->events);
    if (w->fd >= 0) close(w->fd);
    if (w->jobs > 0) close(w->jobs);
    str_free(&w->buffer);
    str_free(&w->late);
    free(w->points);
    arena_free(&w->texts);
    *w = (worker){.fd = -1};
}
