/* process.c - a worker's process: its events, its sandbox, and one run or several. */
#include "base/sandbox.h"
#include "lab/run/worker.h"
#include "tensor/cpu/floor.h"
#include "tensor/comm/comm.h"
#include "tensor/device/device.h"
#include "lab/launch/event.h"
#include "tensor/graph/profile.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Opens the events' destination: a descriptor from the host, or a named file. */
static int open_events(worker_job *j, err *e)
{
    if (j->events && (j->fd = open(j->events, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0)
        return fail(e, "%s: %s", j->events, strerror(errno));
    if (j->ranks > 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
    events_open((int)j->fd);
    return 0;
}

/* Reports a rank's error and ends the other ranks. Rank 0 reports to the host first: often all ranks fail alike. */
static void give_up(const worker_run *r, const err *e)
{
    enum { OTHERS = 2 }; /* seconds */
    const comm *c = r->comm;
    if (!r->leads) sleep(OTHERS);
    events_open((int)r->job.fd);
    AUTOFREE char *message = xprintf("rank %d: %s", c->rank, e->text);
    event_error(message);
    fprintf(stderr, "error: %s\n", message);
    fflush(stderr);
    c->m->abort(WORKER_FAILED);
}

static int shut_in(const worker_job *j, err *e)
{
    const char *writable[2] = {j->folder};
    size_t n = 1;
    if (j->cache_dir && !make_folders(j->cache_dir, e)) writable[n++] = j->cache_dir;
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1); /* the daemon is a process outside the sandbox */
    return e->text[0] ? -1 : sandbox_enter(writable, n, same(j->device, "cpu") ? 0 : SANDBOX_GPU, e);
}

/* May this process train another run, with results equal to a new process's? Only on a GPU, which takes long to open,
 * and after ablate's own plugins only, because others may keep state. */
static bool may_stay(const worker_run *r)
{
    const worker_job *j = &r->job;
    bool own = r->task_plugin && plugin_is_own(r->task_plugin) && !(r->cfg.plugin_path && *r->cfg.plugin_path);
    for (size_t i = 0; i < r->model.set.n && own; i++) {
        ab_kind kind = model_plugin_kind(r->model.set.at[i].key);
        const plugin *p = kind ? plugin_find(kind, r->model.set.at[i].value, NULL) : NULL;
        own = !p || plugin_is_own(p);
    }
    return j->stay && own && on_device(r->on) && j->ranks < 2 && !j->profile && !j->sandbox && !worker_asked_to_stop();
}

/* Waits for another run. Redirects the output to its log, and measures memory and time from here on. */
static bool next_run(worker_job *j, double *cores)
{
    char *folder = NULL;
    fflush(NULL);
    event_idle();
    if (event_next(stdin, &folder, &j->seed, &j->fresh) <= 0) return false;
    j->folder = folder; /* lives as long as the process */
    AUTOFREE char *path = path_join(folder, "log.txt");
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log >= 0) dup2(log, 1), dup2(log, 2), close(log);
    worker_obey(false);
    malloc_trim(0);
    int peak = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (peak >= 0 && write(peak, "5", 1) != 1) log_line(LOG_INFO, "peak_memory includes earlier runs of this process");
    if (peak >= 0) close(peak);
    *cores = worker_core_seconds();
    return true;
}

void worker_print_profile(const worker_run *r)
{
    double flops = 0, bytes = 0;
    if (!on_device(r->on)) cpu_floors(&flops, &bytes);
    profile_print(stderr, flops, bytes);
}

static int exit_code(const worker_run *r, train_outcome outcome)
{
    if (!r->leads && outcome != TRAIN_FAILED) return WORKER_DONE; /* rank 0's status is the run's */
    return outcome == TRAIN_DONE       ? WORKER_DONE
           : outcome == TRAIN_STOPPED  ? WORKER_STOPPED
           : outcome == TRAIN_DIVERGED ? WORKER_DIVERGED
                                       : WORKER_FAILED;
}

int worker_run_job(worker_job *j, err *e)
{
    bool stays = false;
    int code;
    double cores = 0;
    worker_obey(j->ranks > 1);
    if (open_events(j, e)) return -1;
    if (j->sandbox && shut_in(j, e)) return event_error(e->text), WORKER_FAILED;
    cpu_threads((int)j->threads);
    profile_enable(j->profile);
    do {
        *e = (err){0};
        worker_run r = {.job = *j, .leads = true, .lock = -1, .began = ticks(), .core_seconds = cores};
        train_outcome outcome = worker_do(&r, e);
        if (r.job.profile) worker_print_profile(&r);
        stays = outcome == TRAIN_DONE && may_stay(&r);
        worker_close(&r);
        if (r.comm) give_up(&r, e);
        if (outcome == TRAIN_FAILED) event_error(e->text), fprintf(stderr, "error: %s\n", e->text);
        if (outcome == TRAIN_DIVERGED) event_diverged(e->text), fprintf(stderr, "%s\n", e->text);
        if (outcome == TRAIN_STOPPED) event_stopped();
        if (stays) device_close(r.on);
        if (outcome == TRAIN_DONE) event_end();
        code = exit_code(&r, outcome);
    } while (stays && next_run(j, &cores));
    return code;
}
