/* away.c - the host's side of away.h: claims, events by file, the ends of runs, and `ablate sync`. */
#include "base/below.h"
#include "lab/launch/away.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const away_engine *const engines[] = {&slurm_engine, &command_engine};

char *away_part(const char *spool, const char *what, int64_t i)
{
    return xprintf("%s/%s-%lld", spool, what, (long long)i);
}

char *away_events(const char *spool, int64_t i, int start)
{
    return start ? xprintf("%s/events-%lld.%d", spool, (long long)i, start) : away_part(spool, "events", i);
}

double away_lease(void)
{
    enum { LEASE = 60 };
    double seconds = environment_real("ABLATE_TASK_LEASE", LEASE);
    return seconds > 0 ? seconds : LEASE;
}

double away_pause(void)
{
    const double least = 0.05, most = 2, quarter = away_lease() / 4;
    return quarter < least ? least : quarter < most ? quarter : most;
}

struct timespec away_timespec(double seconds)
{
    double whole = floor(seconds);
    return (struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)((seconds - whole) * 1e9)};
}

void away_rest(double seconds)
{
    struct timespec t = away_timespec(seconds);
    nanosleep(&t, NULL);
}

static double seconds_of(struct timespec t) { return (double)t.tv_sec + (double)t.tv_nsec * 1e-9; }

/* Uses the file system's clock, which may differ from this machine's. Opening refreshes a network file system. */
double away_age(const char *spool, const char *what, int64_t i, struct timespec *touched, err *e)
{
    struct stat owner, probe;
    AUTOFREE char *path = away_part(spool, what, i), *file = xprintf("%s/probe-%ld", spool, (long)getpid());
    int there = open(path, O_RDONLY | O_CLOEXEC);
    bool none = there < 0 && (errno == ENOENT || errno == ESTALE);
    if (there < 0 && !none) fail(e, "%s: cannot be opened: %s", path, strerror(errno));
    int now = there < 0 ? -1 : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool known = now >= 0 && !fstat(there, &owner) && write(now, "", 1) == 1 && !fsync(now) && !fstat(now, &probe);
    double age = known ? seconds_of(probe.st_mtim) - seconds_of(owner.st_mtim) : 0;
    if (there >= 0 && !known) fail(e, "%s: cannot be written: %s", file, strerror(errno));
    if (known && touched) *touched = owner.st_mtim;
    if (there >= 0) close(there);
    if (now >= 0) close(now), unlink(file);
    return none ? -1 : age > 0 ? age : 0;
}

static void job_free(away_job *j)
{
    for (size_t i = 0; i < j->n; i++) worker_clear(&j->run[i].w);
    free(j->run);
    free(j->spool);
    free(j->id);
    *j = (away_job){0};
}

/* Removes the spool: everything is in the database and the runs' folders. */
static void forget(const away_job *j)
{
    DIR *d = opendir(j->spool);
    struct dirent *x;
    while (d && (x = readdir(d))) {
        AUTOFREE char *path = x->d_name[0] == '.' ? NULL : path_join(j->spool, x->d_name);
        if (path) unlink(path);
    }
    if (d) closedir(d);
    rmdir(j->spool);
}

/* ---- submitting ---- */

static int write_task(launcher *l, away_job *j, size_t i, str *claims, err *e)
{
    worker *w = &j->run[i].w;
    const db_claim *c = &w->claim;
    w->events = away_events(j->spool, (int64_t)i, 0); /* used by ranks; a single worker writes to its descriptor 3 */
    if (db_trained_model(l->d, c, l->o->folder, &w->texts, &w->model, e) || worker_folder(w, l->o, e)) return -1;
    if (w->ranks > j->ranks) j->ranks = w->ranks;
    char **args = worker_arguments(w, 0, l->o, l->threads);
    CLEANUP(str_free) str text = {0};
    for (int k = 0; args[k]; k++) {
        if (strchr(args[k], '\n')) return fail(e, "\"%s\": names for a job engine cannot contain line ends", args[k]);
        str_addf(&text, "%s\n", args[k]);
    }
    AUTOFREE char *path = away_part(j->spool, "arguments", (int64_t)i);
    str_addf(claims, "%lld\t%lld\t%lld\t%lld\t%s\t%s\t%s\n", (long long)c->run, (long long)c->attempt,
             (long long)c->generation, (long long)c->seed, c->owner, c->name, w->folder);
    return file_write(path, text.s, text.n, e);
}

/* Claims all free runs, but no more than the engine accepts now. */
static int claim_all(launcher *l, away_job *j, err *e)
{
    size_t cap = 0, most = j->engine->room ? j->engine->room(l, j) : SIZE_MAX;
    const char *token = strrchr(j->spool, '/') + 1;
    snprintf(l->owner, sizeof l->owner, "%s/%s", j->engine->name, token);
    if (db_begin(l->d, e)) return -1;
    for (int got = 1;;) {
        db_claim c;
        if (j->n < most) got = db_claim_next(l->d, l->o->experiment, l->o->n ? &l->queue : NULL, l->owner, AWAY, &c, e);
        if (got <= 0 || j->n == most) return db_end(l->d, got < 0 ? -1 : 0, e);
        j->run = grow(j->run, &cap, j->n + 1, sizeof *j->run);
        j->run[j->n++] = (away_run){.w = {.claim = c, .fd = -1, .facts = DB_PROVENANCE_UNKNOWN, .started = ticks()}};
    }
}

int away_give_back(launcher *l, away_job *j, size_t first, err *e)
{
    int bad = db_begin(l->d, e);
    for (size_t i = first; i < j->n && !bad; i++) bad = db_finish(l->d, &j->run[i].w.claim, DB_QUEUED, -1, -1, NULL, e);
    if (db_end(l->d, bad, e)) return -1;
    for (; j->n > first; j->n--) worker_clear(&j->run[j->n - 1].w);
    return 0;
}

static int write_submitter(const away_job *j, err *e)
{
    AUTOFREE char *path = path_join(j->spool, "submitter");
    char me[128];
    db_owner(me);
    return file_write(path, me, strlen(me), e);
}

static int submit(launcher *l, away_job *j, err *e)
{
    CLEANUP(str_free) str claims = {0};
    j->per_task = l->o->per_task > 0 ? l->o->per_task : 1;
    j->spool =
        xprintf("%s/%s/%s/%lld-%ld", l->o->folder, l->o->experiment, j->engine->name, (long long)now(), (long)getpid());
    AUTOFREE char *path = path_join(j->spool, "claims");
    int bad = make_folders(j->spool, e) || write_submitter(j, e) || claim_all(l, j, e);
    for (size_t i = 0; i < j->n && !bad; i++) bad = write_task(l, j, i, &claims, e);
    if (!bad && j->n) bad = file_write(path, claims.s, claims.n, e) || j->engine->submit(l, j, e);
    if (!bad) bad = db_begin(l->d, e);
    for (size_t i = 0; i < j->n && !bad; i++) {
        worker *w = &j->run[i].w;
        provenance_write(&l->from, w);
        w->facts.pid = -1, w->facts.host = NULL; /* unknown until the worker reports its host */
        AUTOFREE char *task = j->engine == &slurm_engine ? slurm_task(j, i) : NULL;
        if (task) w->facts.slurm_job = arena_strdup(&w->texts, task);
        bad = db_attempt(l->d, &w->claim, &w->facts, e);
        l->p.running++;
    }
    bad = db_end(l->d, bad, e);
    err ignored = {0}; /* nothing was submitted: returns the claims; if that fails, requeue_unsubmitted does it later */
    if (bad && !j->id && !away_give_back(l, j, 0, &ignored)) forget(j);
    return bad;
}

/* ---- listening ---- */

static int collect_from(launcher *l, away_run *a, const char *path, err *e)
{
    char text[65536];
    FILE *f = fopen(path, "r");
    int bad = 0;
    if (!f) return 0; /* not started yet */
    if (!fseeko(f, a->read, SEEK_SET))
        for (size_t n; !bad && (n = fread(text, 1, sizeof text, f)) > 0;) {
            str_addn(&a->w.buffer, text, n);
            a->read += (off_t)n;
            bad = launch_collect_events(l, &a->w, e);
        }
    fclose(f);
    return bad;
}

/* Reads the event files of a run's starts, in order. Leaves a start's file for good once the next start has one. */
static int collect_events(launcher *l, away_job *j, size_t i, err *e)
{
    away_run *a = &j->run[i];
    int bad = 0;
    for (bool more = true; more && !bad;) {
        AUTOFREE char *now = away_events(j->spool, (int64_t)i, a->start),
                      *next = away_events(j->spool, (int64_t)i, a->start + 1);
        more = file_exists(next);
        bad = collect_from(l, a, now, e);
        if (more && !bad) a->start++, a->read = 0, str_clear(&a->w.buffer);
    }
    return bad;
}

int away_ended(const away_job *j, size_t i, int *code, int *sig)
{
    AUTOFREE char *path = away_part(j->spool, "exit", (int64_t)i);
    CLEANUP(str_free) str text = {0};
    err none = {0};
    return file_exists(path) && !file_read(path, &text, &none) && sscanf(str_text(&text), "%d %d", code, sig) == 2;
}

/* Handles a failed write. If another process has taken over the run, drops it; else the database failed: -1. */
static int lose(launcher *l, away_run *a, err *e)
{
    if (db_holds(l->d, &a->w.claim)) return -1;
    *e = (err){0};
    launch_lost(l, &a->w);
    a->over = true;
    return 0;
}

int away_end(launcher *l, away_job *j, size_t i, int code, int sig, err *e)
{
    away_run *a = &j->run[i];
    if (collect_events(l, j, i, e)) return lose(l, a, e); /* the run's last events */
    if (j->engine->end) j->engine->end(a);
    if (launch_end(l, &a->w, code, sig, e)) return lose(l, a, e);
    a->over = true;
    return 0;
}

static size_t still_away(const away_job *j)
{
    size_t n = 0;
    for (size_t i = 0; i < j->n; i++) n += !j->run[i].over;
    return n;
}

static int inspect(launcher *l, away_job *j, err *e)
{
    for (size_t i = 0; i < j->n; i++) {
        away_run *a = &j->run[i];
        int code, sig;
        if (a->over) continue;
        bool over = away_ended(j, i, &code, &sig);
        if (over ? away_end(l, j, i, code, sig, e) : collect_events(l, j, i, e) && lose(l, a, e)) return -1;
    }
    if (ticks() - j->asked < (j->engine->ask ? j->engine->ask : away_pause())) return 0;
    j->asked = ticks();
    return j->engine->look(l, j, e);
}

static int beat(launcher *l, away_job *j, err *e)
{
    if (ticks() - l->last_beat < LAUNCH_BEAT) return 0;
    l->last_beat = ticks();
    for (size_t i = 0; i < j->n; i++) {
        away_run *a = &j->run[i];
        if (!a->over && launch_heartbeat(l, &a->w, AWAY, e) && lose(l, a, e)) return -1;
    }
    return 0;
}

/* Cancels the job at the first signal: workers checkpoint and exit, and the command resumes them later. */
static void handle_interrupts(launcher *l, away_job *j, int *handled)
{
    if (*handled == launch_interrupts) return;
    *handled = launch_interrupts;
    l->out->interrupted = launch_signal;
    j->cancelled = true;
    progress_interrupted(&l->p, *handled, (int)still_away(j));
    j->engine->cancel(j);
}

static int wait_for(launcher *l, away_job *j, err *e)
{
    int handled = 0;
    while (still_away(j)) {
        handle_interrupts(l, j, &handled);
        if (beat(l, j, e) || inspect(l, j, e)) return -1;
        if (still_away(j)) away_rest(away_pause() / 2);
    }
    forget(j);
    return 0;
}

/* When runs have ended, submits others that the engine did not accept at first. */
int away_runs(launcher *l, const away_engine *how, err *e)
{
    bool again = true;
    int bad = 0;
    while (again && !bad) {
        away_job j = {.engine = how};
        bad = submit(l, &j, e);
        again = how->room && j.n && !l->o->detach && !bad;
        if (!bad && j.n && !l->o->detach) bad = wait_for(l, &j, e);
        if (!j.n && j.spool) forget(&j);
        again = again && !launch_interrupts;
        job_free(&j);
    }
    return bad;
}

/* ---- ablate sync ---- */

/* Reads a claim that submit() wrote; -1 if its run is not below this folder. */
static int read_claim(away_run *a, char *line, const char *folder, err *e)
{
    char *f[7];
    int n = 0;
    for (char *save = NULL, *w = strtok_r(line, "\t", &save); w && n < 7; w = strtok_r(NULL, "\t", &save)) f[n++] = w;
    *a = (away_run){.w = {.fd = -1, .facts = DB_PROVENANCE_UNKNOWN, .started = ticks()}};
    db_claim *c = &a->w.claim;
    if (n != 7 || !parse_int(f[0], &c->run) || !parse_int(f[1], &c->attempt) || !parse_int(f[2], &c->generation) ||
        !parse_int(f[3], &c->seed) || strlen(f[4]) >= sizeof c->owner)
        return fail(e, "not a claim of this program");
    if (!path_is_below(folder, f[6])) return fail(e, "found the folder %s, expected one below %s", f[6], folder);
    snprintf(c->owner, sizeof c->owner, "%s", f[4]);
    c->name = xstrdup(f[5]);
    a->w.folder = xstrdup(f[6]);
    a->w.log = path_join(f[6], "log.txt");
    return 0;
}

/* Returns 1 for a submitted job of this program, 0 if nothing was submitted, -1 on an error. */
static int job_read(away_job *j, launcher *l, const away_engine *how, const char *spool, err *e)
{
    CLEANUP(str_free) str claims = {0};
    AUTOFREE char **lines = NULL, *path = path_join(spool, "claims"),
                  *folder = path_join(l->o->folder, l->o->experiment);
    size_t n = 0;
    *j = (away_job){.engine = how, .spool = xstrdup(spool), .per_task = 1};
    int rc = !file_exists(path) ? 0 : file_lines(path, &claims, &lines, &n, e) ? -1 : 1;
    if (rc > 0) j->run = xcalloc(n + 1, sizeof *j->run);
    for (size_t i = 0; i < n && rc > 0; i++) {
        if (read_claim(&j->run[i], lines[i], folder, e)) rc = fail_in(e, "%s:%zu: ", path, i + 1);
        j->n++;
        if (rc > 0 && !db_holds(l->d, &j->run[i].w.claim)) j->run[i].over = true;
    }
    if (rc > 0) rc = how->read(j, e);
    if (rc > 0) l->p.running += still_away(j);
    return rc;
}

/* Did the host that was about to submit this job end? A host on another machine counts as ended after an hour. */
static int submitter_is_gone(const away_job *j, bool *gone, err *e)
{
    enum { HOUR = 3600 };
    AUTOFREE char *path = path_join(j->spool, "submitter");
    struct stat info;
    CLEANUP(str_free) str owner = {0};
    bool there = !stat(path, &info); /* no file yet: the other host has claimed nothing */
    int bad = there && file_read(path, &owner, e);
    *gone = there && !bad && (db_owner_is_gone(str_text(&owner)) || now() - seconds_of(info.st_mtim) > HOUR);
    return bad;
}

/* Queues again the runs of a host that ended after claiming them and before submitting. Tasks that Slurm started
 * meanwhile end their workers when they find that the runs are no longer theirs. */
static int requeue_unsubmitted(launcher *l, away_job *j, err *e)
{
    bool gone, began = false;
    if (submitter_is_gone(j, &gone, e)) return -1;
    if (!gone) return 0;
    for (size_t i = 0; i < j->n; i++) {
        AUTOFREE char *arguments = away_part(j->spool, "arguments", (int64_t)i),
                      *owner = away_part(j->spool, "owner", (int64_t)i);
        unlink(arguments);
        began = !unlink(owner) || began;
        if (!j->run[i].over && j->engine->end) j->engine->end(&j->run[i]);
    }
    if (began) away_rest(2 * away_pause());
    AUTOFREE char *claimant = xprintf("%s/%s", j->engine->name, strrchr(j->spool, '/') + 1);
    int bad = db_release_owner(l->d, claimant, e);
    if (!bad) forget(j);
    return bad;
}

static int sync_job(launcher *l, const away_engine *how, const char *spool, bool wait, sync_result *out, err *e)
{
    away_job j = {0};
    int rc = job_read(&j, l, how, spool, e), bad = rc < 0 || (!rc && requeue_unsubmitted(l, &j, e));
    if (rc > 0) {
        out->jobs++;
        size_t before = still_away(&j);
        if (wait)
            bad = wait_for(l, &j, e);
        else {
            l->last_beat = 0;
            for (int k = 0; k < AWAY_GRACE && !bad && still_away(&j); k++) { /* enough checks to find a task lost */
                j.asked = -AWAY;                                             /* long ago */
                if (k) away_rest(away_pause() / 2);
                bad = beat(l, &j, e) || inspect(l, &j, e);
            }
        }
        out->taken += before - still_away(&j);
        out->left += still_away(&j);
        if (!bad && !still_away(&j) && !wait) forget(&j);
    }
    job_free(&j);
    return bad ? -1 : 0;
}

static int sync_engine(launcher *l, const away_engine *how, bool wait, sync_result *out, err *e)
{
    AUTOFREE char *spools = xprintf("%s/%s/%s", l->o->folder, l->o->experiment, how->name);
    DIR *jobs = opendir(spools);
    struct dirent *x;
    int bad = 0;
    while (jobs && !bad && (x = readdir(jobs))) {
        AUTOFREE char *path = x->d_name[0] == '.' ? NULL : path_join(spools, x->d_name);
        if (path && path_is_below(spools, path)) bad = sync_job(l, how, path, wait, out, e);
    }
    if (jobs) closedir(jobs), rmdir(spools);
    return bad;
}

bool launch_is_away(const char *folder, const char *experiment)
{
    bool any = false;
    for (size_t k = 0; k < LENGTH(engines); k++) {
        AUTOFREE char *path = xprintf("%s/%s/%s", folder, experiment, engines[k]->name);
        any = any || file_exists(path);
    }
    return any;
}

int launch_sync(db *d, const launch_options *o, bool wait, sync_result *out, err *e)
{
    launch_result result = {0};
    *out = (sync_result){0};
    if (!launch_is_away(o->folder, o->experiment)) return 0;
    AUTOFREE launcher *l = xcalloc(1, sizeof *l);
    *l = (launcher){.d = d, .o = o, .out = &result};
    int bad = 0;
    progress_begin(&l->p, o);
    if (wait) launch_catch_signals();
    for (size_t k = 0; k < LENGTH(engines) && !bad; k++) bad = sync_engine(l, engines[k], wait, out, e);
    if (wait) launch_let_signals_go();
    progress_end(&l->p, NULL);
    return bad;
}
