/* mps.c - finds, starts and ends the daemon of NVIDIA's Multi-Process Service. */
#include "base/shell.h"
#include "lab/launch/mps.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL "nvidia-cuda-mps-control"
static const char pipes[] = "CUDA_MPS_PIPE_DIRECTORY", logs[] = "CUDA_MPS_LOG_DIRECTORY",
                  visible[] = "CUDA_VISIBLE_DEVICES", usual[] = "/tmp/nvidia-mps";

/* LONGEST_PLACE: most bytes in the path of the folder of sockets, since a socket's path has at most 107. */
enum { LONGEST_PLACE = 60, PATIENCE = 5 /* seconds until a daemon that was started answers */ };
#define ASK_AGAIN 100000 /* microseconds */

static bool on_path(const char *program)
{
    AUTOFREE char *path = xstrdup(getenv("PATH") ? getenv("PATH") : "");
    char *rest = NULL;
    bool found = false;
    for (char *at = strtok_r(path, ":", &rest); at && !found; at = strtok_r(NULL, ":", &rest)) {
        AUTOFREE char *file = path_join(at, program);
        found = access(file, X_OK) == 0 && !is_folder(file);
    }
    return found;
}

/* Does a daemon answer in the environment's or the default folder? The program exits with 1 if it finds none. */
static bool answers(void)
{
    static const char question[] = "get_server_list\n";
    CLEANUP(str_free) str said = {0};
    return shell_run("exec " CONTROL " 2>&1", question, sizeof question - 1, &said, true) == 0 &&
           !strstr(str_text(&said), "Cannot find MPS");
}

/* Does a daemon's socket exist? A container may have the socket but not NVIDIA's program. */
static bool has_socket(const char *folder)
{
    AUTOFREE char *path = path_join(folder, "control");
    struct stat s;
    return !stat(path, &s) && S_ISSOCK(s.st_mode);
}

/* ---- the keeper ---- */

static void wake(int signal_number) { (void)signal_number; }

/* Waits until the other end of `life` is closed, by the host or by its death. Workers of a killed host write a
 * checkpoint and exit; the daemon waits for them for two minutes at most. If a byte arrives first, the logs stay. */
static void keep_server(const char *folder, int life)
{
    static const char quit[] = "quit -t 120\n";
    struct sigaction a = {.sa_handler = wake}; /* a handler, because child processes would inherit SIG_IGN */
    sigaction(SIGINT, &a, NULL), sigaction(SIGTERM, &a, NULL), sigaction(SIGHUP, &a, NULL);
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0), dup2(nothing, 1), dup2(nothing, 2);
    if (life != 3) dup2(life, 3);
    for (int fd = 4; fd < 1024; fd++) close(fd); /* above all, closes the database and the host's end */
    char byte;
    bool stay = false;
    ssize_t n;
    while ((n = read(3, &byte, 1)) > 0 || (n < 0 && errno == EINTR)) stay = stay || n > 0;
    shell_run("exec " CONTROL, quit, sizeof quit - 1, NULL, true);
    char *sockets = path_join(folder, "pipe");
    remove_tree(stay ? sockets : folder);
    _exit(0);
}

static int start_keeper(mps *m, err *e)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return fail(e, "cannot create sockets: %s", strerror(errno));
    fflush(NULL); /* or both processes would print buffered text */
    m->keeper = fork();
    if (m->keeper == 0) {
        setsid();
        keep_server(m->folder, ends[0]);
    }
    close(ends[0]);
    m->life = ends[1];
    if (m->keeper > 0) return 0;
    m->keeper = 0;
    close(ends[1]);
    return fail(e, "cannot start a process: %s", strerror(errno));
}

/* ---- the daemon ---- */

static int make_place(mps *m, err *e)
{
    const char *temporary = getenv("TMPDIR");
    if (!temporary || !*temporary || strlen(temporary) > LONGEST_PLACE) temporary = "/tmp";
    snprintf(m->folder, sizeof m->folder, "%s/ablate-mps-XXXXXX", temporary);
    if (!mkdtemp(m->folder)) /* 0700 */
        return fail(e, "cannot create a folder in %s: %s", temporary, strerror(errno));
    AUTOFREE char *pipe = path_join(m->folder, "pipe"), *log = path_join(m->folder, "log");
    if (mkdir(pipe, 0700) || mkdir(log, 0700))
        return fail(e, "cannot create a folder in %s: %s", m->folder, strerror(errno));
    setenv(pipes, pipe, 1), setenv(logs, log, 1);
    return 0;
}

/* Returns the last line of the daemon's log, or "". The caller frees it. */
static char *last_words(void)
{
    CLEANUP(str_free) str text = {0};
    AUTOFREE char *path = path_join(getenv(logs), "control.log"), **lines = NULL;
    char *last = NULL;
    size_t n = 0;
    err none = {0};
    if (!file_lines(path, &text, &lines, &n, &none) && n) last = xstrdup(lines[n - 1]);
    return last ? last : xstrdup("");
}

/* Starts the daemon without a numeric CUDA_VISIBLE_DEVICES: the daemon would renumber these GPUs, and the workers'
 * numbers would then mean other GPUs. Names (GPU-..., MIG-...) stay. */
static int start_daemon(err *e)
{
    const char *given = getenv(visible);
    bool named = given && (strstr(given, "GPU-") || strstr(given, "MIG-"));
    CLEANUP(str_free) str said = {0};
    int status = shell_run(named ? "exec " CONTROL " -d 2>&1" : "unset CUDA_VISIBLE_DEVICES; exec " CONTROL " -d 2>&1",
                           "", 0, &said, true);
    bool there = false;
    double start = ticks();
    while (!status && !(there = answers()) && ticks() - start < PATIENCE) usleep(ASK_AGAIN);
    AUTOFREE char *log = last_words();
    char *last = said.n ? trim(said.s) : NULL, why[80];
    if (!status && there) return 0;
    snprintf(why, sizeof why, "started no daemon that answers");
    if (status) snprintf(why, sizeof why, "ended with status %d", WIFEXITED(status) ? WEXITSTATUS(status) : 128);
    return fail(e, "%s -d %s%s%s%s%s", CONTROL, why, last && *last ? ": " : "", last ? last : "",
                *log ? "; its log: " : "", log);
}

static int start_server(mps *m, err *e)
{
    int bad = make_place(m, e) || start_keeper(m, e) || start_daemon(e) ? -1 : 0;
    if (bad && !m->keeper && *m->folder) remove_tree(m->folder);
    return bad;
}

/* ---- for the host ---- */

int launch_gpus(const launch_options *o) { return o->gpus > 0 ? o->gpus : o->device && strchr(o->device, ':') ? 1 : 0; }

int mps_begin(mps *m, const launch_options *o, int at_once, progress *p, err *e)
{
    int gpus = launch_gpus(o);
    const char *given = getenv(pipes), *place = given && *given ? given : usual, *s = gpus == 1 ? "" : "s";
    if (o->no_mps || gpus <= 0 || at_once <= gpus) return 0;
    bool program = on_path(CONTROL), shared = program ? answers() : has_socket(place);
    if (shared)
        progress_line(p, "mps     %d workers share %d GPU%s through the daemon of %s", at_once, gpus, s, place);
    else if (!program)
        progress_line(p,
                      "mps     %d workers take turns on %d GPU%s (time slices): their kernels overlap only where "
                      "%s, which comes with NVIDIA's driver, is on PATH",
                      at_once, gpus, s, CONTROL);
    if (shared || !program) return 0;
    if (given && *given)
        return fail(e,
                    "%s is %s, where no MPS daemon answers; start it (%s -d), unset the variable, or let the %d "
                    "workers take turns (--no-mps)",
                    pipes, given, CONTROL, at_once);
    if (start_server(m, e)) {
        mps_end(m, false, p);
        return fail_in(e, "cannot start MPS (with --no-mps the %d workers take turns on %d GPU%s): ", at_once, gpus, s);
    }
    progress_line(p, "mps     %d workers share %d GPU%s through a daemon started for them", at_once, gpus, s);
    return 0;
}

void mps_end(mps *m, bool keep, progress *p)
{
    if (*m->folder) unsetenv(pipes), unsetenv(logs);
    if (m->keeper > 0) {
        if (keep && send(m->life, "k", 1, MSG_NOSIGNAL) == 1)
            progress_line(p, "mps     logs of the daemon: %s/log", m->folder);
        close(m->life);
        process_wait(m->keeper);
    }
    *m = (mps){0};
}
