/* run.c - the main job, from a sweep's INI to its table: sweep_run and, for one experiment, train_rows. Their steps
 * follow in the order of the calls, or are in the file named beside the call.
 *
 *     experiments/quick.ini -> rows x seeds (lab/config/) -> runs in the database (freeze.c, lab/results/)
 *     -> one worker process each (lab/launch/) -> lab/run/worker.c: task -> vocabulary -> batches -> model -> training
 *     -> decoding -> scores -> the table (lab/report/)
 */
#include "base/sandbox.h"
#include "base/shell.h"
#include "network/check/known.h"
#include "network/model/model.h"
#include "network/plugin/plugin.h"
#include "tensor/device/device.h"
#include "lab/sweep/estimate_child.h"
#include "lab/sweep/left.h"
#include "lab/report/store.h"
#include "lab/report/table.h"
#include <stdlib.h>
#include <sys/wait.h>

/* One call of `ablate run`: shared by all experiments that it trains (the INI's; those of searches and matching). */
typedef struct {
    const sweep_call *c;
    sweep_options *o;
    spec_options wanted;
    spec spec;
    char *experiment;  /* name of the INI's experiment */
    sweep_costs costs; /* costs of the spec's rows */
    prepared found;
    bool talk;
    int interrupted; /* the signal, or 0 */
    bool away;       /* submitted jobs, which continue, train the runs */
    reruns again;
} sweep;

static int expand(sweep *s, err *e);
static int count_costs(sweep *s, err *e);
static int prepare(sweep *s, const trainer *t, err *e);
static int train_rows(void *self, spec *x, err *e);
static int show_table(const sweep *s, err *e);
static void notify(const sweep *s, int code, const err *e);
static void close_sweep(sweep *s);

static int shut_in_run(err *e) { return sandbox_enter(NULL, 0, SANDBOX_ALONE, e); }

int sweep_run(const sweep_call *c, sweep_options *o, err *e)
{
    if (o->sandbox) plugin_describe_in(shut_in_run);
    if (o->sandbox && c->verbosity >= 0) fprintf(stderr, "%s\n", sandbox_words((char[256]){0}));
    bool talk = o->progress != PROGRESS_JSON && o->progress != PROGRESS_NONE && c->verbosity >= 0;
    sweep s = {.c = c, .o = o, .talk = talk, .again.rerun = o->rerun};
    int code = expand(&s, e); /* expands the INI to rows times seeds */
    if (!code && recognize_rows(&c->p->db, c, &s.spec, o->rerun, e))
        code = 1; /* do its rows have other defaults than their results? */
    trainer t = {train_rows, &s, &c->p->db, run_schemas(), talk};
    if (!code && o->dry_run) {
        code = dry_run(&s.spec, o, c, e); /* preflight.c */
        close_sweep(&s);
        return code;
    }
    if (!code) code = count_costs(&s, e); /* is the data present, and what does training cost? */
    if (!code) code = prepare(&s, &t, e); /* matched budgets (match.c), searched values (search.c) */
    bool ready = !code;
    if (ready)
        code = s.spec.analysis.until.most ? train_until(&s.spec, &t, e) : train_rows(&s, &s.spec, e); /* sequential.c */
    if (ready && !e->text[0] && !s.interrupted && !s.away) code = show_table(&s, e) ? 1 : code;
    if (o->notify) notify(&s, code, e);
    close_sweep(&s);
    return e->text[0] && !code ? 1 : code;
}

static int freeze(sweep *s, spec *x, const launch_options *l, db **d, db_frozen **frozen, size_t *n, err *e);
/* May a run use cores of other runs? Not if its time changes its results. */
static bool may_lend(const spec *x, const sweep_options *o, int gpus)
{
    bool may = same(o->at_a_time, "auto") && !gpus && most_ranks(x) < 2;
    for (size_t i = 0; i < x->n_rows; i++) may = may && same(settings_get(&x->rows[i].settings, "max_time"), "0");
    return may;
}

static launch_options launch_of(const sweep *s, const spec *x, const char *folder, const char *cache, str *resume,
                                str *sbatch);
static int launch(sweep *s, const spec *x, db *d, const db_frozen *frozen, size_t n, launch_options *l, err *e);

/* Freezes one experiment and trains its runs, without a table. 0 if all are done, else the exit code, with any message
 * in e. Results are recorded as they arrive (lab/launch/). */
static int train_rows(void *self, spec *x, err *e)
{
    sweep *s = self;
    AUTOFREE char *folder = db_runs_folder(&s->c->p->db), *cache = path_join(s->c->p->root, "runs/cache");
    CLEANUP(str_free) str resume = {0}, sbatch = {0};
    db *d = NULL;
    AUTOFREE db_frozen *frozen = NULL;
    size_t n = 0;
    launch_options l = launch_of(s, x, folder, cache, &resume, &sbatch);
    int code = freeze(s, x, &l, &d, &frozen, &n, e); /* writes rows and missing runs to the database: freeze.c */
    /* store the choices first: tables of a running or killed sweep count choices, too */
    if (!code && same(x->name, s->experiment) && s->found.n_trials)
        code = db_put_trials(d, s->spec.name, s->found.trials, s->found.n_trials, e) ? 1 : 0;
    if (!code) code = launch(s, x, d, frozen, n, &l, e); /* one worker process per run */
    db_close(d);
    return code;
}

/* ---- expand ---- */

static int expand(sweep *s, err *e)
{
    const sweep_options *o = s->o;
    CLEANUP(str_free) str errors = {0}, folders = {0};
    s->wanted =
        (spec_options){.set = o->set.at, .n_set = o->set.n, .only = o->only.at, .n_only = o->only.n, .seeds = o->seeds};
    spec_plugin_path(s->c->ini, &s->wanted, &folders);
    plugin_add_path(str_text(&folders));
    int bad = spec_read(&s->spec, s->c->ini, &s->wanted, run_schemas(), &errors);
    fprintf(stderr, "%s", bad ? str_text(&errors) : str_text(&s->spec.warnings));
    if (bad || read_machine(&s->spec, s->o, e) || check_origins(&s->spec, &s->c->p->db, NULL, e)) return 2;
    s->experiment = xstrdup(s->spec.name); /* the spec is read again */
    return 0;
}

static void close_sweep(sweep *s)
{
    spec_free(&s->spec);
    estimate_free(&s->costs);
    prepared_free(&s->found);
    free(s->again.before.id);
    free(s->experiment);
}

/* Reads the spec again with the values found so far, if any. */
static int read_again(sweep *s, const plugin_schemas *plugins, err *e)
{
    CLEANUP(str_free) str errors = {0};
    if (!s->found.n) return 0;
    s->wanted.chosen = s->found.chosen, s->wanted.n_chosen = s->found.n;
    spec_free(&s->spec);
    return spec_read(&s->spec, s->c->ini, &s->wanted, plugins, &errors) ? fail(e, "%s", str_text(&errors)) : 0;
}

/* Completes the spec with matched and searched values known without training. left, searches [rows]: what is left. */
static int foresee(sweep *s, const estimate_data *d, size_t *left, search_left *searches, err *e)
{
    trainer t = {NULL, NULL, &s->c->p->db, run_schemas(), false};
    prepared *found = &s->found;
    AUTOFREE char *tune = xprintf("%s.tune", s->experiment);
    done_runs *trials = done_open(t.db, tune, s->o->rerun), *runs = done_open(t.db, s->experiment, s->o->rerun);
    int bad = check_origins(&s->spec, t.db, found, e);
    err why = {0};
    if (*s->spec.analysis.match && d->n && match_counted(&s->spec, &t, d->groups[d->of[0]].tgt, found, &why))
        printf("note\tmatch = %s is not counted%s%s\n", s->spec.analysis.match,
               *why.text ? ": " : ": `ablate run` times some steps first", why.text);
    for (int round = 0; round < 2 && !bad; round++) {
        if (round) bad = search_count_left(&s->spec, &t, trials, found, searches, e);
        if (!bad) bad = read_again(s, t.plugins, e);
    }
    if (!bad && !recognize_rows(t.db, s->c, &s->spec, s->o->rerun, &why)) runs_count_left(&s->spec, runs, left);
    done_close(trials);
    done_close(runs);
    return bad;
}

int sweep_estimate_print(const sweep_call *c, sweep_options *o)
{
    sweep s = {.c = c, .o = o};
    err e = {0};
    bool patient = o->dry_run;
    o->dry_run = true; /* opens no device */
    if (o->sandbox && sandbox_enter(NULL, 0, SANDBOX_GPU, &e)) return fprintf(stderr, "%s\n", e.text), 1;
    int code = expand(&s, &e);
    if (!code) {
        estimate_data d;
        AUTOFREE size_t *left = xcalloc(s.spec.n_rows + 1, sizeof *left);
        AUTOFREE search_left *searches = xcalloc(s.spec.n_rows + 1, sizeof *searches);
        estimate_open(&d, &s.spec, c->p);
        if (foresee(&s, &d, left, searches, &e))
            printf("missing\t%s\n", e.text), code = 1;
        else
            estimate_print(&d, &s.spec, o->device, o->threads, patient, (double)o->step_limit, left, searches);
        estimate_close(&d);
    }
    close_sweep(&s);
    return code;
}

/* ---- costs and preparation ---- */

static int count_costs(sweep *s, err *e)
{
    estimate_sweep(s->c, &s->costs);
    if (s->c->verbosity >= 0) fputs(str_text(&s->costs.notes), stderr);
    if (s->costs.unknown) fprintf(stderr, "no estimate: %s\n", s->costs.unknown);
    pack(s->o, &s->spec, &s->costs, s->c->verbosity >= 0);
    CLEANUP(str_free) str rows = {0};
    return check_data(&s->costs, s->c, e) || (!s->o->ignore_room && room_lacks(&s->costs, &s->spec, s->o, &rows, e));
}

static void print_searches(const sweep_costs *x)
{
    CLEANUP(str_free) str text = {0};
    estimate_searches(x, &text);
    fputs(str_text(&text), stderr);
}

/* Reads the spec again with the results of matching and searches. Returns 0, or an exit code. */
static int prepare(sweep *s, const trainer *t, err *e)
{
    int code = 0;
    size_t tunes = 0;
    spec *x = &s->spec;
    prepared *found = &s->found;
    if (s->o->detach && (values_wait(x) || x->analysis.until.most)) {
        fail(e, "%s: searches, matched budgets and seeds = until ... must wait for runs; remove --detach", x->name);
        return 2;
    }
    if (check_origins(x, t->db, found, e)) return 1;
    if (*x->analysis.match) code = match_rows(x, t, found, e);
    for (int round = 0; round < 2 && !code; round++) { /* first matching, then searches with the matched values */
        if (round) {
            for (size_t i = 0; i < x->n_rows; i++) tunes += x->rows[i].n_tunes;
            if (!tunes) break;
            if (s->talk) print_searches(&s->costs);
            code = search_rows(x, t, found, e);
        }
        if (!code && read_again(s, t->plugins, e)) code = 2;
    }
    return code;
}

/* ---- freeze and launch ---- */

/* Checks external plugins that no sweep here has used yet. */
static void check_new_plugins(const spec *s, const char *cache, bool talk)
{
    for (size_t i = 0; i < s->n_rows; i++)
        for (size_t k = 0; k < s->rows[i].placed.n && s->rows[i].run; k++) {
            const setting *one = &s->rows[i].placed.at[k];
            ab_kind kind = model_plugin_kind(one->key);
            err none = {0};
            const plugin *p = kind ? plugin_find(kind, one->value, &none) : NULL;
            if (p) check_once(p, cache, talk);
        }
}

static launch_options launch_of(const sweep *s, const spec *x, const char *folder, const char *cache, str *resume,
                                str *sbatch)
{
    static const char *const more[][3] = {{NULL}, {"--profile"}, {"--sandbox"}, {"--profile", "--sandbox"}};
    const sweep_options *o = s->o;
    bool hushed = s->c->verbosity < 0 && o->progress == PROGRESS_AUTO, slurm = same(o->launcher, "slurm"),
         local = same(o->launcher, "local");
    int gpus = local ? device_count(o->device) : 0;
    resume_command(s->c, resume);
    str_addf(sbatch, "%s%s%s", x->slurm_options, o->slurm_args ? " " : "", o->slurm_args ? o->slurm_args : "");
    return (launch_options){.program = s->c->p->program,
                            .experiment = x->name,
                            .folder = folder,
                            .data_dir = s->c->p->data_dir,
                            .cache_dir = cache,
                            .device = o->device,
                            .gpus = gpus,
                            .workers = (int)o->workers,
                            .threads = (int)o->threads,
                            .cores = local && may_lend(x, o, gpus) ? (int)pack_cores() : 0,
                            .ranks = most_ranks(x),
                            .step_limit = (int)o->step_limit,
                            .no_mps = o->no_mps || o->sandbox,
                            .progress = hushed ? PROGRESS_NONE : (enum progress_mode)o->progress,
                            .resume_command = str_text(resume),
                            .slurm = slurm ? str_text(sbatch) : NULL,
                            .command = local || slurm ? NULL : o->launcher,
                            .per_task = (int)(o->per_task ? o->per_task : x->slurm_per_task),
                            .detach = o->detach,
                            .fail_fast = o->fail_fast,
                            .notify = o->notify,
                            .worker_args = more[o->profile + 2 * o->sandbox]};
}

static int freeze(sweep *s, spec *x, const launch_options *l, db **d, db_frozen **frozen, size_t *n, err *e)
{
    const places *p = s->c->p;
    sync_result away; /* progress of runs that earlier calls submitted */
    launch_options quiet = {
        .program = l->program, .experiment = l->experiment, .folder = l->folder, .progress = PROGRESS_NONE};
    if (!s->o->no_check) check_new_plugins(x, l->cache_dir, s->talk);
    int bad = !(*d = db_open(&p->db, e)) || launch_sync(*d, &quiet, false, &away, e) ||
              recognize_rows(&p->db, s->c, x, s->o->rerun, e) ||
              run_freeze(*d, x, s->c->argc, s->c->argv, frozen, n, e);
    return bad ? 1 : 0;
}

static int launch(sweep *s, const spec *x, db *d, const db_frozen *frozen, size_t n, launch_options *l, err *e)
{
    AUTOFREE int64_t *ids = xcalloc(n + 1, sizeof *ids);
    launch_result result = {0};
    db_counts now;
    int code = 1;
    if (s->o->sandbox && l->ranks > 1) return fail(e, "--sandbox: found several ranks, which need a network"), 1;
    choose_runs(x, same(x->name, s->experiment) && s->costs.n ? &s->costs : NULL, frozen, n, ids, l);
    if (s->talk && same(x->name, s->experiment)) print_preflight(&s->costs, x, frozen, n, &s->again, l, s->c);
    if (!s->o->ignore_room && same(x->name, s->experiment) && check_room(&s->costs, x, frozen, n, &s->again, d, l, e))
        return 1;
    if (!queue_again(d, x, &s->again, frozen, n, l, s->talk, e) && !launch_runs(d, l, &result, e) &&
        !db_count(d, ids, l->n, &now, e)) {
        code = now.of[DB_DONE] + now.of[DB_SKIPPED] == l->n ? 0 : 1;
        if (s->talk && !result.interrupted) show_gaps(&now);
    }
    s->interrupted = result.interrupted;
    if (e->text[0]) return 1;
    if (result.interrupted) return 128 + result.interrupted;
    if (result.stopped)
        return fail(e, "stopped at the first failed run (--fail-fast); the same command continues the other runs"), 1;
    if (!l->detach || !result.left) return code;
    if (s->talk)
        fprintf(stderr, "%zu runs are %s; `ablate sync %s` records their progress, the same command resumes them\n",
                result.left, l->slurm ? "in Slurm" : "with the launcher", x->name);
    s->away = true;
    return 0;
}

/* ---- results ---- */

static int show_table(const sweep *s, err *e)
{
    const db_options *where = &s->c->p->db;
    const char *name = s->spec.name;
    CLEANUP(str_free) str out = {0};
    fflush(stderr);
    reader *r = reader_open(where, e);
    CLEANUP(arena_free) arena a = {0};
    read_experiment x = {0};
    int bad = !r || table_print(r, name, &(table_options){0}, TABLE_TERMINAL, &out, e) ||
              reader_experiment(r, name, READ_VALUES, &a, &x, e);
    reader_close(r);
    if (!bad) fputs(str_text(&out), stdout);
    if (!bad) bad = store_comparisons(where, name, e);
    fflush(stdout);
    if (s->talk && !bad)
        fprintf(stderr, "\nresults: %s   (ablate table %s; as a view for ablate query: %s)\n", where->path, name,
                x.view);
    return bad;
}

/* Runs --notify's command. Its input is the outcome, then the table. */
static void notify(const sweep *s, int code, const err *e)
{
    CLEANUP(str_free) str text = {0};
    err none = {0};
    reader *r = reader_open(&s->c->p->db, &none);
    const char *how = code == 0 ? "done" : s->interrupted ? "interrupted" : s->away ? "away" : "not all runs are done";
    str_addf(&text, "ablate: %s: %s (exit code %d)\n%s%s", s->experiment ? s->experiment : s->c->ini, how, code,
             e->text, *e->text ? "\n" : "");
    if (r && s->experiment) table_print(r, s->experiment, &(table_options){0}, TABLE_TEXT, &text, &none);
    reader_close(r);
    int status = shell_run(s->o->notify, text.s, text.n, NULL, true);
    if (status)
        fprintf(stderr, "--notify: `%s` ended with status %d\n", s->o->notify,
                status > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}
