/* host.c - the host's loop: claim, start, listen, record, finish. */
#include "lab/launch/away.h"
#include "base/shell.h"
#include "lab/launch/mps.h"
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In seconds. SILENCE: until a warning; GRACE: from TERM to KILL; INTERRUPT_GRACE: from the interrupt to KILL;
 * ASK_AGAIN: until mpirun is asked again; HELD: a longer round of the loop shows that this process was suspended. */
enum { SILENCE = 60, GRACE = 10, INTERRUPT_GRACE = 300, ASK_AGAIN = 2, HELD = 10 };

/* ---- signals: counted, handled in the loop ---- */

volatile sig_atomic_t launch_interrupts, launch_signal;
static void on_signal(int s)
{
    launch_interrupts++;
    launch_signal = s;
}

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction before[LENGTH(caught)];

void launch_catch_signals(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    launch_interrupts = 0;
    for (size_t i = 0; i < LENGTH(caught); i++) {
        sigaction(caught[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(caught[i], &a, NULL); /* stays ignored: nohup, a shell's & */
    }
}
void launch_let_signals_go(void)
{
    for (size_t i = 0; i < LENGTH(caught); i++) sigaction(caught[i], &before[i], NULL);
}

/* ---- listening ---- */

/* Reads the available events. *ended: the pipe is closed. */
static void hear(const worker *w, str *out, bool *ended)
{
    char part[65536];
    ssize_t n;
    while ((n = read(w->fd, part, sizeof part)) > 0) str_addn(out, part, (size_t)n);
    *ended = n == 0;
}

/* Reads and records the available events. */
static int listen_to(launcher *l, worker *w, bool *ended, err *e)
{
    str_addn(&w->buffer, str_text(&w->late), w->late.n);
    str_clear(&w->late);
    hear(w, &w->buffer, ended);
    return launch_collect_events(l, w, e);
}

/* ---- the end of a run ---- */

static void last_lines(progress *p, const char *path)
{
    CLEANUP(str_free) str text = {0};
    AUTOFREE char **lines = NULL;
    size_t n = 0;
    err e = {0};
    if (!file_lines(path, &text, &lines, &n, &e))
        for (size_t i = n > 8 ? n - 8 : 0; i < n; i++) progress_line(p, "        | %s", lines[i]);
    progress_line(p, "        log: %s", path);
}

static int write_diverged(launcher *l, worker *w, err *e)
{
    const metric *m = &metric_perplexity;
    db_result r = {.metric = m->name,
                   .direction = metric_direction_text(m),
                   .unit = m->unit,
                   .aggregation = m->sum->name,
                   .value = 0.0 / 0.0,
                   .step = w->step};
    return db_put_result(l->d, &w->claim, &r, e) || db_put_tag(l->d, &w->claim, "diverged", w->error, e);
}

static bool was_killed(int s) { return s == SIGKILL || s == SIGTERM || s == SIGINT || s == SIGHUP; }

/* Returns the run's status, with any reason in w->error; *what: the status as one word. */
static enum db_status outcome(launcher *l, worker *w, int code, int sig, const char **what)
{
    if (code == WORKER_DONE && w->ended) return *what = "done", DB_DONE;
    if (w->term_at > 0) { /* ended by the watchdog */
        snprintf(w->error, sizeof w->error, "ended after %d s without a step, after step %lld (--step-limit)",
                 l->o->step_limit, (long long)w->step);
        return *what = "failed", DB_FAILED;
    }
    if (code == WORKER_DONE) {
        if (!*w->error)
            snprintf(w->error, sizeof w->error,
                     "exited in %s with status 0 before finishing: a plugin or library called exit", w->phase);
        return *what = "failed", DB_FAILED;
    }
    if (code == WORKER_DIVERGED && w->diverged) return *what = "diverged", DB_DONE;
    if ((l->out->interrupted || l->out->stopped) && worker_was_asked(code, sig)) return *what = "stopped", DB_QUEUED;
    if (code == WORKER_STOPPED) { /* this host did not ask: restarting at once could loop forever */
        snprintf(w->error, sizeof w->error, "stopped by another process");
        return *what = "killed", DB_KILLED;
    }
    if (sig > 0 && !*w->error)
        snprintf(w->error, sizeof w->error, "%sended by signal %d (%s)", w->ranks > 1 ? "a rank was " : "", sig,
                 strsignal(sig));
    if (code == 127 && !*w->error)
        snprintf(w->error, sizeof w->error, "cannot start %s",
                 w->ranks > 1 ? "mpirun, which starts a run's ranks (Debian: openmpi-bin; or set $ABLATE_MPIRUN)"
                              : l->o->program);
    if (code > 0 && !*w->error) snprintf(w->error, sizeof w->error, "ended with exit status %d", code);
    if (was_killed(sig)) return *what = "killed", DB_KILLED;
    return *what = "failed", DB_FAILED;
}

static void count_end(launcher *l, const worker *w, enum db_status s)
{
    l->p.running--;
    if (s == DB_DONE) l->p.done++, l->out->done++, l->p.finished++, l->p.finished_seconds += ticks() - w->started;
    if (s == DB_FAILED) l->p.failed++, l->out->failed++;
    if (s == DB_KILLED) l->p.killed++, l->out->killed++;
}

int launch_heartbeat(launcher *l, const worker *w, int lease, err *e)
{
    return db_heartbeat(l->d, &w->claim, w->total ? w->step : -1, w->total ? w->total : -1, lease, e);
}

int launch_end(launcher *l, worker *w, int code, int sig, err *e)
{
    const char *what;
    enum db_status s = outcome(l, w, code, sig, &what);
    int bad = db_begin(l->d, e) || db_attempt(l->d, &w->claim, &w->facts, e) || launch_heartbeat(l, w, LAUNCH_LEASE, e);
    if (!bad && s == DB_DONE && code == WORKER_DIVERGED) bad = write_diverged(l, w, e);
    if (!bad) bad = db_finish(l->d, &w->claim, s, code, sig, *w->error ? w->error : NULL, e);
    if (db_end(l->d, bad, e)) return -1;
    if (s == DB_DONE) leftovers_remove(w->folder);
    count_end(l, w, s);
    progress_event(&l->p, w, what, w->dev_ppl);
    if (s == DB_FAILED) last_lines(&l->p, w->log);
    if (s == DB_FAILED || same(what, "diverged")) launch_notify(l, w, *w->error ? w->error : what);
    worker_clear(w);
    return 0;
}

/* Waits for a process whose events have ended, and records the end of its run. */
static int finish(launcher *l, worker *w, err *e)
{
    int code, sig;
    ranks_status(process_wait(w->pid), w->ranks > 1, &code, &sig);
    w->gone = true;
    if (w->hung) code = w->diverged ? WORKER_DIVERGED : w->ended ? WORKER_DONE : WORKER_STOPPED, sig = -1;
    return launch_end(l, w, code, sig, e);
}

/* Records the end of a run whose process now waits for another run. */
static int finish_idle(launcher *l, worker *w, err *e)
{
    resting process = worker_detach_process(w);
    int bad = launch_end(l, w, WORKER_DONE, -1, e);
    if (!bad)
        l->rest[w - l->w] = process;
    else
        worker_dismiss(&process), w->gone = true;
    return bad;
}

void launch_lost(launcher *l, worker *w)
{
    l->p.running--;
    snprintf(w->error, sizeof w->error, "another process has taken over this run");
    progress_event(&l->p, w, "lost", w->dev_ppl);
    worker_clear(w);
}

/* Handles a failed write for this worker. If another process took over the run (this one slept longer than its lease),
 * kills the worker: it must not overwrite the new worker's checkpoint. Otherwise the database failed: -1. */
static int drop_lost(launcher *l, worker *w, err *e)
{
    if (db_holds(l->d, &w->claim)) return -1;
    *e = (err){0};
    if (!w->gone) {
        worker_kill(w);
        process_wait(w->pid);
    }
    launch_lost(l, w);
    return 0;
}

/* ---- the loop ---- */

/* Returns how many runs train at a time. */
static int workers_of(const launch_options *o)
{
    int ranks = o->ranks > 1 ? o->ranks : 1, n = o->workers > 0 ? o->workers : o->gpus / ranks;
    return n < 1 ? 1 : n < LAUNCH_MAX ? n : LAUNCH_MAX;
}

static int start_worker(launcher *l, worker *w, err *e) /* 1: started, 0: nothing to do, -1 */
{
    int got = db_claim_next(l->d, l->o->experiment, l->o->n ? &l->queue : NULL, l->owner, LAUNCH_LEASE, &w->claim, e);
    if (got <= 0) return got;
    w->facts = DB_PROVENANCE_UNKNOWN;
    err why = {0};
    if (db_trained_model(l->d, &w->claim, l->o->folder, &w->texts, &w->model, e)) return -1;
    if (worker_start(w, &l->rest[w - l->w], (int)(w - l->w), l->o, l->threads, &why)) {
        int bad = db_finish(l->d, &w->claim, DB_FAILED, -1, -1, why.text, e);
        l->p.failed++, l->out->failed++;
        snprintf(w->error, sizeof w->error, "%s", why.text);
        progress_event(&l->p, w, "failed", 0);
        worker_clear(w);
        return bad ? -1 : 1;
    }
    provenance_write(&l->from, w);
    l->p.running++;
    progress_event(&l->p, w, "start", 0);
    return db_attempt(l->d, &w->claim, &w->facts, e) ? -1 : 1;
}

static int active(const launcher *l)
{
    int n = 0;
    for (int i = 0; i < l->n_workers; i++) n += l->w[i].pid != 0;
    return n;
}

/* Is there room for one more run? Removes done runs' checkpoints if the disk is full. 0: no; *wait: ask again later. */
static int has_room(launcher *l, bool *wait, err *e)
{
    const launch_options *o = l->o;
    double disk = care_free_disk(o->folder), memory = care_free_memory();
    bool tight = o->disk_each > 0 && disk > 0 && disk<o->disk_each, full = o->memory_each> 0 && memory > 0 &&
                 memory < o->memory_each;
    if (tight && launch_clean(l->d, o, e)) return -1;
    if (tight) disk = care_free_disk(o->folder), tight = disk < o->disk_each;
    *wait = full && !tight && active(l) > 0; /* a run that ends frees memory */
    if (!tight && !full) return 1;
    if (!l->told_room)
        progress_line(&l->p, "no room for another run: %s; %s",
                      tight ? "it needs more disk than is free" : "it needs more memory than is free",
                      *wait ? "waiting for a run to end" : "repeat the command later to start the rest");
    l->told_room = true;
    return 0;
}

static void interrupt_workers(launcher *l)
{
    if (l->handled == launch_interrupts) return;
    l->handled = launch_interrupts;
    if (!(l->interrupted_at > 0)) l->interrupted_at = ticks();
    int times = l->handled; /* the second SIGTERM ends a worker at once */
    l->out->interrupted = launch_signal;
    progress_interrupted(&l->p, l->handled, active(l));
    for (int i = 0; i < l->n_workers; i++) {
        worker *w = &l->w[i];
        if (!w->pid || w->gone) continue;
        if (times == 1)
            worker_ask_stop(w);
        else if (times == 2)
            kill(w->pid, SIGTERM);
        else
            worker_kill(w);
    }
}

static void stop_after_failure(launcher *l)
{
    if (!l->o->fail_fast || !l->out->failed || l->out->stopped) return;
    l->out->stopped = true;
    for (int i = 0; i < l->n_workers; i++)
        if (l->w[i].pid && !l->w[i].gone) worker_ask_stop(&l->w[i]);
}

/* While another process holds the database, reads and keeps the runs' events. The third interrupt ends the wait. */
static bool wait_for_database(void *self, const char *news)
{
    launcher *l = self;
    bool ended;
    if (news) progress_line(&l->p, "%s", news);
    if (l->o->slurm || l->o->command) return launch_interrupts < 3;
    for (int i = 0; i < l->n_workers; i++)
        if (l->w[i].pid && l->w[i].fd >= 0) hear(&l->w[i], &l->w[i].late, &ended);
    interrupt_workers(l);
    return launch_interrupts < 3;
}

/* Is the process stopped (SIGSTOP, Ctrl-Z, a debugger)? */
static bool is_stopped(pid_t pid)
{
    CLEANUP(str_free) str text = {0};
    err none = {0};
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const char *name_ends = file_read(path, &text, &none) ? NULL : strrchr(str_text(&text), ')'); /* "123 (ablate) T" */
    return name_ends && (name_ends[2] == 'T' || name_ends[2] == 't');
}

/* Reports a step that takes over a minute; ends its run at the limit. Only training has steps, and so a limit. */
static void watch_step(launcher *l, worker *w)
{
    double silence = ticks() - w->news, limit = l->o->step_limit;
    if (!same(w->phase, "train") && !same(w->phase, "model")) return;
    if (silence > 1 && is_stopped(w->pid)) { /* a stopped process is not stuck */
        w->news = ticks();
        return;
    }
    if (!w->silent && silence > (limit > 0 && limit < 2 * SILENCE ? limit / 2 : SILENCE)) {
        w->silent = true;
        progress_line(&l->p, "slow    %s s%lld: no step for %.0f s, after step %lld", w->claim.name,
                      (long long)w->claim.seed, silence, (long long)w->step);
    }
    if (!(limit > 0) || silence < limit) return;
    if (!(w->term_at > 0)) w->term_at = ticks(), kill(w->pid, SIGTERM);
    double grace = limit < GRACE ? limit : GRACE;
    if (ticks() - w->term_at > grace) worker_kill(w);
}

/* Asks mpirun again to stop, because it can miss a signal while it starts. Kills mpirun if it does not exit after its
 * ranks; what rank 0 reported then counts. */
static void watch_mpirun(launcher *l, worker *w)
{
    bool saves = same(w->phase, "train"); /* the worker writes a checkpoint first */
    double over = w->reported;
    if (l->interrupted_at > 0 && !(over > 0) && !saves) over = l->interrupted_at;
    if (over > 0 && ticks() - over > GRACE) worker_kill(w), w->hung = true;
    if (w->asked_at > 0 && ticks() - w->asked_at > ASK_AGAIN && !(w->reported > 0)) worker_ask_stop(w);
}

static void watch(launcher *l)
{
    double now = ticks(), held = l->watched > 0 ? now - l->watched : 0;
    l->watched = now;
    for (int i = 0; i < l->n_workers; i++) {
        worker *w = &l->w[i];
        if (!w->pid) continue;
        if (held > HELD) w->news += held; /* this process was suspended (SIGSTOP), perhaps its workers too */
        if (l->interrupted_at > 0 && ticks() - l->interrupted_at > INTERRUPT_GRACE) worker_kill(w);
        if (!(l->interrupted_at > 0)) watch_step(l, w);
        if (w->ranks > 1) watch_mpirun(l, w);
    }
}

static int beat_all(launcher *l, err *e)
{
    if (ticks() - l->last_beat < LAUNCH_BEAT) return 0;
    l->last_beat = ticks();
    for (int i = 0; i < l->n_workers; i++) {
        worker *w = &l->w[i];
        if (w->pid && launch_heartbeat(l, w, LAUNCH_LEASE, e) && drop_lost(l, w, e)) return -1;
    }
    return 0;
}

static int listen_once(launcher *l, err *e)
{
    struct pollfd fds[LAUNCH_MAX];
    int who[LAUNCH_MAX], n = 0;
    bool late = false;
    for (int i = 0; i < l->n_workers; i++) {
        if (!l->w[i].pid) continue;
        fds[n] = (struct pollfd){.fd = l->w[i].fd, .events = POLLIN}, who[n++] = i;
        late = late || l->w[i].late.n;
    }
    if (poll(fds, (nfds_t)n, late ? 0 : 250) <= 0 && !late) return 0;
    for (int k = 0; k < n; k++) {
        worker *w = &l->w[who[k]];
        bool ended = false;
        if (!(fds[k].revents & (POLLIN | POLLHUP | POLLERR)) && !w->late.n) continue;
        int bad = listen_to(l, w, &ended, e);
        if (!bad && w->idle)
            bad = finish_idle(l, w, e);
        else if (!bad && ended)
            bad = finish(l, w, e);
        if (bad && drop_lost(l, w, e)) return -1;
    }
    return 0;
}

static int loop(launcher *l, err *e)
{
    bool more = true;
    while (more || active(l)) {
        if (beat_all(l, e)) return -1; /* first, so that none of our leases expires before we claim */
        interrupt_workers(l);
        stop_after_failure(l);
        watch(l);
        more = more && !l->handled && !l->out->stopped;
        for (int i = 0; i < l->n_workers && more; i++) {
            if (l->w[i].pid) continue;
            bool wait = false;
            int room = has_room(l, &wait, e), got = room > 0 ? start_worker(l, &l->w[i], e) : room;
            if (got < 0) return -1;
            if (wait) break;
            more = got > 0 && !launch_interrupts;
        }
        for (int i = 0; i < l->n_workers && !more; i++) worker_dismiss(&l->rest[i]);
        if (!more && !l->handled && !l->out->stopped) launch_lend(l);
        if (active(l) && listen_once(l, e)) return -1;
        progress_draw(&l->p, l->w, (size_t)l->n_workers, false);
    }
    return 0;
}

/* Returns how many processes will share the GPUs. */
static int at_once(const launch_options *o)
{
    size_t over = o->done + o->failed + o->skipped, left = o->n > over ? o->n - over : 0, n = (size_t)workers_of(o);
    return (int)(n < left ? n : left) * (o->ranks > 1 ? o->ranks : 1);
}

int launch_runs(db *d, const launch_options *o, launch_result *out, err *e)
{
    AUTOFREE launcher *l = xcalloc(1, sizeof *l);
    size_t released = 0;
    bool away = o->slurm || o->command;
    *out = (launch_result){0};
    *l = (launcher){
        .d = d, .o = o, .queue = {o->runs, o->n, 0}, .out = out, .n_workers = workers_of(o), .last_beat = ticks()};
    l->threads = away ? o->threads : launch_threads(o, l->n_workers);
    for (int i = 0; i < LAUNCH_MAX; i++) l->w[i].fd = -1;
    db_owner(l->owner);
    progress_begin(&l->p, o);
    l->p.workers = l->n_workers;
    l->p.total = o->n;
    l->p.done = o->done, l->p.failed = o->failed, l->p.skipped = o->skipped;
    mps shared = {0};
    int bad = away ? 0 : mps_begin(&shared, o, at_once(o), &l->p, e); /* after a signal the keeper cleans up */
    launch_catch_signals();
    db_on_wait(d, wait_for_database, l);
    if (!bad) bad = make_folders(o->folder, e);
    if (!bad) provenance_find(&l->from, o);
    if (!bad) bad = db_release_dead(d, o->experiment, &released, e) || launch_clean(d, o, e);
    if (!bad) bad = away ? away_runs(l, o->slurm ? &slurm_engine : &command_engine, e) : loop(l, e);
    for (int i = 0; i < l->n_workers; i++) { /* kills the workers left after an error */
        if (l->w[i].pid && !l->w[i].gone) kill(l->w[i].pid, SIGTERM);
        if (l->w[i].pid) worker_clear(&l->w[i]);
    }
    for (int i = 0; i < l->n_workers; i++) worker_dismiss(&l->rest[i]);
    launch_let_signals_go();
    db_on_wait(d, NULL, NULL);
    mps_end(&shared, out->failed > 0, &l->p);
    out->left = l->p.total - l->p.done - l->p.failed - l->p.skipped;
    progress_end(&l->p, out->interrupted ? o->resume_command : NULL);
    provenance_free(&l->from);
    return bad;
}
