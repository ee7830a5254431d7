/* slurm.c - the host's side of runs in Slurm: one array job per sweep, events by file, the ends of runs.
 *
 * Host and tasks share FOLDER/EXPERIMENT/slurm/TOKEN/, on a file system that all machines see:
 *
 *     claims      one line per run, written before the job is submitted: the claim as stored in the database, and the
 *     run's folder arguments-I the worker's command line of run I, one argument per line
 *     job         the job's id, as printed by sbatch
 *     events-I    the worker's events (event.h), appended by every start of it
 *     exit-I      "CODE SIGNAL", written once by the task when run I has ended for good
 *
 * Claims are owned by "slurm/TOKEN", not by a process, with a lease of AWAY: a host may exit (--detach) or die, and
 * launch_sync continues. Processing an event twice is harmless, so a host that starts again reads the files from the
 * beginning.
 */
#include "lab/launch/internal.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* seconds: a claim's lease; between looks at files, at squeue; times in a row that squeue must not know a task that
 * told no end */
enum { AWAY = 30 * 24 * 3600, LOOK = 1, ASK = 5, GRACE = 3 };

typedef struct {
    worker w;
    off_t read;  /* of its events */
    int missing; /* consecutive times that squeue did not know its task */
    bool over;
} away;

typedef struct {
    char *spool;
    char job[64];
    away *run;
    size_t n;
    int per_task, ranks; /* ranks: the most of a run */
    double asked;        /* squeue, last time */
} slurm_job;

static char *part(const slurm_job *j, const char *what, size_t i) { return xprintf("%s/%s-%zu", j->spool, what, i); }

static void job_free(slurm_job *j)
{
    for (size_t i = 0; i < j->n; i++) worker_clear(&j->run[i].w);
    free(j->run);
    free(j->spool);
    *j = (slurm_job){0};
}

/* ---- submitting ---- */

static int write_task(launcher *l, slurm_job *j, size_t i, str *claims, err *e)
{
    worker *w = &j->run[i].w;
    const db_claim *c = &w->claim;
    w->events = part(j, "events", i); /* the event file of ranks; a worker without ranks uses its descriptor 3 */
    if (worker_folder(w, l->o, e)) return -1;
    if (w->ranks > j->ranks) j->ranks = w->ranks;
    char **args = worker_arguments(w, 0, l->o, l->threads);
    str text = {0};
    for (int k = 0; args[k]; k++) {
        if (strchr(args[k], '\n'))
            return str_free(&text), fail(e, "\"%s\": names for Slurm cannot contain line ends", args[k]);
        str_addf(&text, "%s\n", args[k]);
    }
    char *path = part(j, "arguments", i);
    int bad = file_write(path, text.s, text.n, e);
    free(path);
    str_free(&text);
    str_addf(claims, "%lld\t%lld\t%lld\t%lld\t%s\t%s\t%s\n", (long long)c->run, (long long)c->attempt,
             (long long)c->generation, (long long)c->seed, c->owner, c->name, w->folder);
    return bad;
}

static int claim_all(launcher *l, slurm_job *j, err *e)
{
    size_t cap = 0;
    const char *token = strrchr(j->spool, '/') + 1;
    snprintf(l->owner, sizeof l->owner, "slurm/%s", token);
    for (;;) {
        db_claim c;
        int got = db_claim_next(l->d, l->o->experiment, l->o->runs, l->o->n, l->owner, AWAY, &c, e);
        if (got <= 0) return got;
        j->run = grow(j->run, &cap, j->n + 1, sizeof *j->run);
        j->run[j->n] = (away){.w = {.claim = c, .fd = -1, .facts = DB_PROVENANCE_UNKNOWN, .started = ticks()}};
        j->n++;
    }
}

/* The batch script, which starts `ablate slurm-task` (slurm_task.c). */
static int write_script(const launcher *l, const slurm_job *j, const char *path, err *e)
{
    str s = {0};
    size_t tasks = (j->n + (size_t)j->per_task - 1) / (size_t)j->per_task;
    str_addf(&s, "#!/bin/sh\n#SBATCH --job-name=ablate-%s\n#SBATCH --array=0-%zu\n", l->o->experiment, tasks - 1);
    str_add(&s, "#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --signal=B:USR1@120\n");
    str_addf(&s, "#SBATCH --output=%s/task-%%a.txt\n", j->spool);
    if (j->ranks > 1) str_addf(&s, "#SBATCH --ntasks=%d\n", j->ranks); /* mpirun, inside, starts one on each */
    str_addf(&s, "exec '%s' slurm-task '%s' \"$SLURM_ARRAY_TASK_ID\" %d\n", l->o->program, j->spool, j->per_task);
    if (j->ranks > 1 && j->per_task > 1) {
        str_free(&s);
        return fail(e,
                    "found %d runs per task and a run with ranks = %d, expected one run per task for runs with ranks",
                    j->per_task, j->ranks);
    }
    int bad = strchr(l->o->program, '\'') || strchr(j->spool, '\'')
                  ? fail(e, "%s: paths for Slurm cannot contain quotes", j->spool)
                  : file_write(path, s.s, s.n, e);
    str_free(&s);
    return bad;
}

static int sbatch(launcher *l, slurm_job *j, const char *script, err *e)
{
    enum { MOST = 64 };
    const char *args[MOST] = {"sbatch", "--parsable"};
    char *given = xstrdup(l->o->slurm), *save = NULL;
    int n = 2;
    for (char *w = strtok_r(given, " \t", &save); w && n < MOST - 2; w = strtok_r(NULL, " \t", &save)) args[n++] = w;
    args[n++] = script;
    args[n] = NULL;
    char *out = output_of(args);
    free(given);
    if (!out)
        return fail(e, "sbatch did not accept the job: run `sbatch %s %s` to see its message; is Slurm installed here?",
                    l->o->slurm, script);
    snprintf(j->job, sizeof j->job, "%.*s", (int)strcspn(out, ";\n"), out);
    free(out);
    char *path = path_join(j->spool, "job");
    int bad = file_write(path, j->job, strlen(j->job), e);
    free(path);
    return bad;
}

/* Returns every claim of this process: nothing was submitted. */
static void give_back(launcher *l, slurm_job *j)
{
    for (size_t i = 0; i < j->n; i++) {
        err ignored = {0};
        db_finish(l->d, &j->run[i].w.claim, DB_QUEUED, -1, -1, NULL, &ignored);
    }
}

static int submit(launcher *l, slurm_job *j, err *e)
{
    str claims = {0};
    j->per_task = l->o->per_task > 0 ? l->o->per_task : 1;
    j->spool = xprintf("%s/%s/slurm/%lld-%ld", l->o->folder, l->o->experiment, (long long)now(), (long)getpid());
    char *path = path_join(j->spool, "claims"), *script = path_join(j->spool, "job.sh");
    int bad = make_folders(j->spool, e) || claim_all(l, j, e);
    for (size_t i = 0; i < j->n && !bad; i++) bad = write_task(l, j, i, &claims, e);
    if (!bad && j->n)
        bad = file_write(path, claims.s, claims.n, e) || write_script(l, j, script, e) || sbatch(l, j, script, e);
    for (size_t i = 0; i < j->n && !bad; i++) {
        worker *w = &j->run[i].w;
        provenance_put(&l->from, w);
        w->facts.pid = -1, w->facts.host = NULL; /* the worker tells its host */
        w->facts.slurm_job = arena_printf(&w->texts, "%s_%zu", j->job, i / (size_t)j->per_task);
        bad = db_attempt(l->d, &w->claim, &w->facts, e);
        l->p.running++;
    }
    if (bad && !j->job[0]) give_back(l, j);
    str_free(&claims);
    free(path);
    free(script);
    return bad;
}

/* ---- listening ---- */

static int take_events(launcher *l, slurm_job *j, size_t i, err *e)
{
    away *a = &j->run[i];
    char *path = part(j, "events", i), text[65536];
    FILE *f = fopen(path, "r");
    int bad = 0;
    free(path);
    if (!f) return 0; /* not started yet */
    if (!fseeko(f, a->read, SEEK_SET))
        for (size_t n; !bad && (n = fread(text, 1, sizeof text, f)) > 0;) {
            str_addn(&a->w.buffer, text, n);
            a->read += (off_t)n;
            bad = launch_take_events(l, &a->w, e);
        }
    fclose(f);
    return bad;
}

/* 1: the task has recorded the end of run i. */
static int ended(const slurm_job *j, size_t i, int *code, int *sig)
{
    char *path = part(j, "exit", i);
    str text = {0};
    err none = {0};
    int found = file_exists(path) && !file_read(path, &text, &none) && sscanf(str_text(&text), "%d %d", code, sig) == 2;
    str_free(&text);
    free(path);
    return found;
}

/* A write failed: another process has the run now (then it is dropped), or the database fails (-1). */
static int lose(launcher *l, away *a, err *e)
{
    if (db_holds(l->d, &a->w.claim)) return -1;
    *e = (err){0};
    snprintf(a->w.error, sizeof a->w.error, "another process has taken over this run");
    progress_event(&l->p, &a->w, "lost", a->w.dev_ppl);
    l->p.running--;
    worker_clear(&a->w);
    a->over = true;
    return 0;
}

static int end_of(launcher *l, slurm_job *j, size_t i, int code, int sig, err *e)
{
    away *a = &j->run[i];
    const char *what;
    int bad = take_events(l, j, i, e); /* what it told last */
    if (bad) return lose(l, a, e);
    enum db_status s = launch_outcome(l, &a->w, code, sig, &what);
    if (launch_end(l, &a->w, s, code, sig, what, e)) return lose(l, a, e);
    a->over = true;
    return 0;
}

/* squeue's list of the job's unfinished tasks: "17_3 RUNNING", one per line. NULL: squeue failed. */
static char *queue_of(const slurm_job *j)
{
    return output_of((const char *const[]){"squeue", "-h", "-r", "-j", j->job, "-o", "%i %T", NULL});
}

/* The rest of a task's line in such a list; NULL: not listed. */
static const char *in_queue(const char *queue, const char *task)
{
    size_t n = strlen(task);
    for (const char *at = queue; (at = strstr(at, task)); at += n)
        if ((at == queue || at[-1] == '\n') && at[n] == ' ') return at + n + 1;
    return NULL;
}

static bool is_queued(const char *queue, const slurm_job *j, size_t i)
{
    char *task = xprintf("%s_%zu", j->job, i / (size_t)j->per_task);
    bool there = in_queue(queue, task) != NULL;
    free(task);
    return there;
}

/* ---- ablate ls ---- */

/* "17,18" of tasks "17_0", "17_3", "18_0". */
static void jobs_of(const char *const *task, size_t n, str *out)
{
    const char *last = "";
    for (size_t i = 0; i < n; i++) {
        size_t length = strcspn(task[i], "_");
        if (strncmp(last, task[i], length + 1)) str_addf(out, "%s%.*s", out->n ? "," : "", (int)length, task[i]);
        last = task[i];
    }
}

void slurm_states(const char *const *task, char (*state)[SLURM_STATE], size_t n)
{
    str jobs = {0};
    jobs_of(task, n, &jobs);
    char *queue = n ? output_of((const char *const[]){"timeout", "5", "squeue", "-h", "-r", "-j", str_text(&jobs), "-o",
                                                      "%i %T", NULL})
                    : NULL;
    for (size_t i = 0; i < n; i++) {
        const char *at = queue ? in_queue(queue, task[i]) : NULL;
        snprintf(state[i], SLURM_STATE, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    }
    str_free(&jobs);
    free(queue);
}

/* A task unknown to Slurm without a recorded end was cancelled, or its machine failed for good. */
static int look_for_lost(launcher *l, slurm_job *j, err *e)
{
    if (ticks() - j->asked < ASK) return 0;
    j->asked = ticks();
    char *queue = queue_of(j);
    int bad = 0;
    for (size_t i = 0; i < j->n && !bad; i++) {
        away *a = &j->run[i];
        int code, sig;
        if (a->over || (queue && is_queued(queue, j, i)) || ended(j, i, &code, &sig)) {
            a->missing = 0;
            continue;
        }
        if (++a->missing < GRACE) continue; /* squeue briefly omits a job while it is requeued */
        snprintf(a->w.error, sizeof a->w.error,
                 "Slurm no longer has its task %s_%zu: it was cancelled, or its machine failed", j->job,
                 i / (size_t)j->per_task);
        bad = end_of(l, j, i, -1, SIGKILL, e);
    }
    free(queue);
    return bad;
}

static size_t still_away(const slurm_job *j)
{
    size_t n = 0;
    for (size_t i = 0; i < j->n; i++) n += !j->run[i].over;
    return n;
}

static int look(launcher *l, slurm_job *j, err *e)
{
    for (size_t i = 0; i < j->n; i++) {
        away *a = &j->run[i];
        int code, sig;
        if (a->over) continue;
        bool over = ended(j, i, &code, &sig);
        if (over ? end_of(l, j, i, code, sig, e) : take_events(l, j, i, e) && lose(l, a, e)) return -1;
    }
    return look_for_lost(l, j, e);
}

static int beat(launcher *l, slurm_job *j, err *e)
{
    if (ticks() - l->last_beat < LAUNCH_BEAT) return 0;
    l->last_beat = ticks();
    for (size_t i = 0; i < j->n; i++) {
        away *a = &j->run[i];
        if (!a->over &&
            db_heartbeat(l->d, &a->w.claim, a->w.total ? a->w.step : -1, a->w.total ? a->w.total : -1, AWAY, e) &&
            lose(l, a, e))
            return -1;
    }
    return 0;
}

/* The first signal cancels the job: workers checkpoint and exit, the same command resumes. */
static void handle_interrupts(launcher *l, slurm_job *j, int *handled)
{
    if (*handled == launch_interrupts) return;
    *handled = launch_interrupts;
    l->out->interrupted = launch_signal;
    progress_interrupted(&l->p, *handled, (int)still_away(j));
    free(output_of((const char *const[]){"scancel", j->job, NULL}));
}

static void forget(const slurm_job *j) /* removes its folder: everything is in the database and the runs' folders */
{
    DIR *d = opendir(j->spool);
    struct dirent *x;
    while (d && (x = readdir(d))) {
        char *path = x->d_name[0] == '.' ? NULL : path_join(j->spool, x->d_name);
        if (path) unlink(path);
        free(path);
    }
    if (d) closedir(d);
    rmdir(j->spool);
}

static int wait_for(launcher *l, slurm_job *j, err *e)
{
    int handled = 0;
    while (still_away(j)) {
        handle_interrupts(l, j, &handled);
        if (beat(l, j, e) || look(l, j, e)) return -1;
        if (still_away(j)) sleep(LOOK);
    }
    forget(j);
    return 0;
}

int slurm_runs(launcher *l, err *e)
{
    slurm_job j = {0};
    int bad = submit(l, &j, e);
    if (!bad && j.n) {
        progress_line(&l->p, "Slurm job %s: %zu run%s in %zu task%s", j.job, j.n, j.n == 1 ? "" : "s",
                      (j.n + (size_t)j.per_task - 1) / (size_t)j.per_task, j.n > (size_t)j.per_task ? "s" : "");
        if (!l->o->detach) bad = wait_for(l, &j, e);
    }
    if (!j.n && j.spool) forget(&j);
    job_free(&j);
    return bad;
}

/* ---- ablate sync ---- */

/* A claim as submit() wrote it. */
static int read_claim(away *a, char *line, err *e)
{
    char *f[7];
    int n = 0;
    for (char *save = NULL, *w = strtok_r(line, "\t", &save); w && n < 7; w = strtok_r(NULL, "\t", &save)) f[n++] = w;
    *a = (away){.w = {.fd = -1, .facts = DB_PROVENANCE_UNKNOWN, .started = ticks()}};
    db_claim *c = &a->w.claim;
    if (n != 7 || !parse_int(f[0], &c->run) || !parse_int(f[1], &c->attempt) || !parse_int(f[2], &c->generation) ||
        !parse_int(f[3], &c->seed) || strlen(f[4]) >= sizeof c->owner)
        return fail(e, "not a claim of this program");
    snprintf(c->owner, sizeof c->owner, "%s", f[4]);
    c->name = xstrdup(f[5]);
    a->w.folder = xstrdup(f[6]);
    a->w.log = path_join(f[6], "log.txt");
    return 0;
}

/* 1: a job of ours; 0: nothing was submitted there; -1. */
static int job_read(slurm_job *j, launcher *l, const char *spool, err *e)
{
    str claims = {0}, id = {0};
    char **lines = NULL, *path = path_join(spool, "claims"), *job = path_join(spool, "job"),
         *script = path_join(spool, "job.sh");
    size_t n = 0;
    *j = (slurm_job){.spool = xstrdup(spool), .per_task = 1};
    int rc = file_exists(path) && file_exists(job) ? 1 : 0;
    if (rc && (file_lines(path, &claims, &lines, &n, e) || file_read(job, &id, e))) rc = -1;
    if (rc > 0) {
        snprintf(j->job, sizeof j->job, "%s", str_text(&id));
        j->run = xcalloc(n + 1, sizeof *j->run);
        for (size_t i = 0; i < n && rc > 0; i++) {
            if (read_claim(&j->run[i], lines[i], e)) rc = fail_in(e, "%s:%zu: ", path, i + 1);
            j->n++;
            if (rc > 0 && !db_holds(l->d, &j->run[i].w.claim)) j->run[i].over = true;
            l->p.running += rc > 0 && !j->run[i].over;
        }
    }
    str text = {0};
    err none = {0};
    char *last = rc > 0 && !file_read(script, &text, &none) ? strrchr(trim(text.s), ' ') : NULL;
    int64_t per = 1;
    if (last && parse_int(last + 1, &per) && per > 0) j->per_task = (int)per;
    str_free(&text);
    free(lines);
    str_free(&claims);
    str_free(&id);
    free(path);
    free(job);
    free(script);
    return rc;
}

static int sync_job(launcher *l, const char *spool, bool wait, sync_result *out, err *e)
{
    slurm_job j = {0};
    int rc = job_read(&j, l, spool, e), bad = rc < 0;
    if (rc > 0) {
        out->jobs++;
        size_t before = still_away(&j);
        if (wait)
            bad = wait_for(l, &j, e);
        else {
            l->last_beat = 0;
            for (int k = 0; k < GRACE && !bad && still_away(&j); k++) { /* enough looks to miss a task for good */
                j.asked = -ASK;
                if (k) sleep(LOOK);
                bad = beat(l, &j, e) || look(l, &j, e);
            }
        }
        out->taken += before - still_away(&j);
        out->left += still_away(&j);
        if (!bad && !still_away(&j) && !wait) forget(&j);
    }
    job_free(&j);
    return bad ? -1 : 0;
}

int launch_sync(db *d, const char *experiment, const char *folder, bool wait, enum progress_mode mode, sync_result *out,
                err *e)
{
    launch_options o = {
        .experiment = experiment, .folder = folder, .program = "the worker", .progress = mode, .slurm = ""};
    launch_result result = {0};
    launcher *l = xcalloc(1, sizeof *l);
    *out = (sync_result){0};
    *l = (launcher){.d = d, .o = &o, .out = &result};
    char *spools = xprintf("%s/%s/slurm", folder, experiment);
    DIR *jobs = opendir(spools);
    struct dirent *x;
    int bad = 0;
    if (jobs) progress_begin(&l->p, &o);
    if (wait) launch_catch_signals();
    while (jobs && !bad && (x = readdir(jobs))) {
        char *path = x->d_name[0] == '.' ? NULL : path_join(spools, x->d_name);
        if (path) bad = sync_job(l, path, wait, out, e);
        free(path);
    }
    if (wait) launch_let_signals_go();
    if (jobs) closedir(jobs), progress_end(&l->p, NULL), rmdir(spools);
    free(spools);
    free(l);
    return bad;
}
