/* hosts.c - measures a host's cost per run, for ablate-bench host: two hosts share a queue, with the loop of `ablate
 * run` and workers that only report a result. */
#include "bench/program/host.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOSTS = 2, SECONDS = 5 };
typedef struct {
    double seconds; /* user and system time of the host itself */
    size_t done;
} spent;

static const char stand_in[] = "#!/bin/sh\nprintf 'phase\\ttrain\\npoint\\ttrain_PPL\\t1\\t5\\n' >&3\n"
                               "printf 'result\\tPPL\\tmin\\t\\tmean\\t\\t5\\t1\\tlast\\t0\\t0\\nend\\n' >&3\n";

static void ignore(int signal) { (void)signal; } /* outside of the host's loop, which handles signals itself */

/* Runs a host in a new process. */
static void host(const bench *b, const char *name, const int64_t *ids, size_t n, const char *program, int to)
{
    err e = {0};
    launch_result result = {0};
    struct rusage u;
    char *folder = xprintf("%s.runs", b->path);
    signal(SIGTERM, ignore);
    launch_options o = {.program = program,
                        .experiment = name,
                        .runs = ids,
                        .n = n,
                        .folder = folder,
                        .data_dir = folder,
                        .cache_dir = folder,
                        .device = "cpu",
                        .workers = 1,
                        .threads = 1,
                        .progress = PROGRESS_NONE};
    db *d = db_open(&(db_options){.path = b->path, .patient = true}, &e);
    int bad = !d || (launch_runs(d, &o, &result, &e) && !result.interrupted);
    getrusage(RUSAGE_SELF, &u);
    spent s = {(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                   (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
               bad ? 0 : result.done};
    if (bad) log_line(LOG_ERROR, "%s", e.text);
    _exit(bad || write(to, &s, sizeof s) != sizeof s);
}

/* Waits until a host has finished, for SECONDS at most, and ends all hosts. */
static int wait_for_hosts(const pid_t *pid, int from, spent *sum)
{
    int bad = 0;
    spent s;
    poll(&(struct pollfd){.fd = from, .events = POLLIN}, 1, SECONDS * 1000);
    for (int i = 0; i < HOSTS; i++) kill(pid[i], SIGTERM);
    for (int i = 0, status; i < HOSTS; i++) bad |= waitpid(pid[i], &status, 0) < 0 || status;
    for (int i = 0; i < HOSTS && !bad; i++) {
        bad = read(from, &s, sizeof s) != sizeof s;
        sum->seconds += s.seconds, sum->done += s.done;
    }
    return bad;
}

int bench_hosts(bench *b, const char *name, size_t queued, double *per_run, err *e)
{
    enum { SEEDS = 50 };
    char *program = xprintf("%s.worker", b->path);
    int64_t *ids = NULL;
    int ends[2];
    pid_t pid[HOSTS];
    spent sum = {0};
    int bad = bench_make(b, name, queued / SEEDS, SEEDS, &ids, e) || file_write(program, stand_in, strlen(stand_in), e);
    if (!bad && (chmod(program, 0755) || pipe(ends))) bad = fail(e, "%s: cannot be made a program", program);
    db_close(b->d); /* a connection must not live in two processes */
    for (int i = 0; i < HOSTS && !bad; i++)
        if (!(pid[i] = fork())) host(b, name, ids, queued / SEEDS * SEEDS, program, ends[1]);
    if (!bad && wait_for_hosts(pid, ends[0], &sum)) bad = fail(e, "a host of %zu queued runs failed", queued);
    if (!bad && !sum.done) bad = fail(e, "found no run of %zu done after %d s, expected some", queued, SECONDS);
    if (!bad) *per_run = sum.seconds / (double)sum.done;
    if (!bad) close(ends[0]), close(ends[1]);
    unlink(program);
    free(program);
    free(ids);
    err none = {0};
    b->l->d = b->d = db_open(&(db_options){.path = b->path}, bad ? &none : e);
    return bad || !b->d;
}
