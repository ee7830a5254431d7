/* run.c - the main job, from a sweep's INI to its table: start at run(), near the end; run_spec, prepare and train_spec
 * are above it.
 *
 *     experiments/table3.ini -> rows x seeds (config/) -> runs in the database (freeze.c, results/) -> one worker
 *     process each (launch/) -> worker.c: task -> vocabulary -> batches -> model -> training -> decoding -> scores ->
 *     the table (report/)
 *
 * preflight.c checks the machine and the costs before anything is written; setup.c does what every command needs before
 * it starts.
 */
#include "network/check/known.h"
#include "tensor/device/device.h"
#include "lab/launch/launch.h"
#include "network/model/model.h"
#include "network/plugin/plugin.h"
#include "lab/sweep/freeze.h"
#include "lab/sweep/preflight.h"
#include "lab/sweep/prepare.h"
#include "lab/report/store.h"
#include "lab/report/table.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { RERUN_FAILED, RERUN_CHANGED, RERUN_ALL };

static void add_word(str *out, const char *word) /* as a shell reads it back */
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    bool bare = *word && !word[strspn(word, safe)];
    if (out->n) str_addc(out, ' ');
    if (!bare) str_addc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            str_add(out, "'\\''");
        else
            str_addc(out, *word);
    }
    if (!bare) str_addc(out, '\'');
}

/* The command that resumes: this one without --rerun, because its runs are already requeued. */
static void resume_command(const invocation *c, str *out)
{
    add_word(out, is_folder("./ablate") || access("./ablate", X_OK) ? c->p.program : "./ablate");
    str_add(out, " run");
    for (int i = 1; i < c->argc; i++)
        if (same(c->argv[i], "--rerun"))
            i++;
        else if (!has_prefix(c->argv[i], "--rerun="))
            add_word(out, c->argv[i]);
}

static int64_t steps_of(const spec *s, const db_frozen *f)
{
    const char *text = settings_get(&s->rows[f->row].settings, "steps");
    int64_t steps = 0;
    return text && parse_int(text, &steps) ? steps : 0;
}

/* The runs that this call is about: those of selected rows, done ones included. Where several are done at a time,
 * those with more steps come first, so that no worker is idle while another one has a long run still to do. */
static void choose_runs(const spec *s, const db_frozen *f, size_t n, int64_t *ids, launch_options *l)
{
    int64_t *steps = xcalloc(n + 1, sizeof *steps);
    bool several = l->workers > 1 || l->gpus > 1;
    l->runs = ids;
    for (size_t i = 0; i < n; i++) {
        if (!s->rows[f[i].row].run) continue;
        size_t at = l->n++;
        int64_t own = several ? steps_of(s, &f[i]) : 0;
        for (; at > 0 && steps[at - 1] < own; at--) ids[at] = ids[at - 1], steps[at] = steps[at - 1];
        ids[at] = f[i].id, steps[at] = own;
        l->done += f[i].status == DB_DONE;
        l->failed += f[i].status == DB_FAILED;
        l->skipped += f[i].status == DB_SKIPPED;
    }
    free(steps);
}

/* Explains the table's gaps and how to fill them. n: runs of this call by status, including other processes'. */
static void show_gaps(const db_counts *n)
{
    if (n->of[DB_FAILED])
        fprintf(stderr, "%zu failed: `ablate log RUN` shows why, --rerun failed tries again\n", n->of[DB_FAILED]);
    if (n->of[DB_KILLED]) fprintf(stderr, "%zu killed: the same command resumes them\n", n->of[DB_KILLED]);
    if (n->of[DB_RUNNING])
        fprintf(stderr, "%zu are running in another process and will appear in the table\n", n->of[DB_RUNNING]);
    if (n->of[DB_QUEUED]) fprintf(stderr, "%zu not trained yet: run the same command again\n", n->of[DB_QUEUED]);
    if (n->gone)
        fprintf(
            stderr,
            "%zu are no longer in the experiment: another process has run it with a different spec or removed them\n",
            n->gone);
}

static int show_table(const spec *s, const places *p, bool talk, err *e)
{
    str out = {0};
    fflush(stderr);
    reader *r = reader_open(&p->db, e);
    arena a = {0};
    read_experiment x = {0};
    int bad = !r || table_print(r, s->name, &(table_options){0}, TABLE_TEXT, &out, e) ||
              reader_experiment(r, s->name, false, &a, &x, e);
    reader_close(r);
    if (!bad) fputs(str_text(&out), stdout);
    if (!bad) bad = store_comparisons(&p->db, e);
    fflush(stdout);
    if (talk && !bad)
        fprintf(stderr, "\nresults: %s   (ablate table %s; as a view for ablate query: %s)\n", p->db.path, s->name,
                x.view);
    str_free(&out);
    arena_free(&a);
    return bad;
}

/* Requeues the runs of --rerun, and reports runs affected by changed plugins. */
static int queue_again(db *d, const spec *s, const sweep_options *o, const db_frozen *f, size_t n, launch_options *l,
                       bool talk, err *e)
{
    int64_t *changed = xcalloc(n + 1, sizeof *changed);
    size_t n_changed = 0, anew = 0, queued = 0;
    for (size_t i = 0; i < n; i++) {
        if (!s->rows[f[i].row].run) continue;
        if (f[i].changed) changed[n_changed++] = f[i].id;
        anew += f[i].anew;
    }
    bool redo = o->rerun == RERUN_CHANGED, all = o->rerun == RERUN_ALL;
    int bad = 0;
    if (redo)
        bad = n_changed && db_requeue(d, changed, n_changed, DB_RERUN_ALL, &queued, e), l->done -= n_changed;
    else if (o->rerun >= 0) {
        bad = db_requeue(d, l->runs, l->n, all ? DB_RERUN_ALL : DB_RERUN_FAILED, &queued, e);
        l->failed = 0, l->done = all ? 0 : l->done;
    }
    if (talk && !redo && !all && n_changed)
        fprintf(stderr, "%zu run%s trained with a plugin that has changed since: --rerun changed trains %s again\n",
                n_changed, n_changed == 1 ? " was" : "s were", n_changed == 1 ? "it" : "them");
    if (talk && anew)
        fprintf(stderr, "%zu unfinished run%s started with a plugin that has changed since: %s from step 0\n", anew,
                anew == 1 ? " was" : "s were", anew == 1 ? "it restarts" : "they restart");
    free(changed);
    return bad;
}

/* ---- training ---- */

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

/* One call of `ablate run`: shared by every experiment it trains. */
typedef struct {
    sweep_options *o;
    spec_options *wanted;
    const invocation *c;
    const sweep_estimate *estimate; /* of the INI's own experiment */
    const char *experiment;
    bool talk;
    int interrupted; /* the signal, or 0 */
    bool away;       /* runs were left to jobs that go on */
    /* experiments, a line each, whose runs --rerun has queued again in this call: later rungs and looks go on with
     * them */
    str rerun_of;
} session;

/* Freezes the spec and trains its runs, without a table. 0 if all are done, else the exit code, with any message in
 * e. */
static int train_spec(void *self, spec *s, err *e)
{
    session *k = self;
    sweep_options *o = k->o;
    const invocation *c = k->c;
    const places *p = &c->p;
    str again = {0}, sbatch = {0};
    db_frozen *frozen = NULL;
    size_t n = 0;
    launch_result result = {0};
    char *folder = runs_folder(p), *cache = path_join(p->root, "runs/cache");
    if (!o->no_check) check_new_plugins(s, cache, k->talk);
    db *d = db_open(&p->db, e);
    int code = 1;
    sync_result away; /* progress of Slurm jobs of earlier calls */
    if (!d || launch_sync(d, s->name, folder, false, PROGRESS_NONE, &away, e) ||
        run_freeze(d, s, c->argc, c->argv, &frozen, &n, e))
        goto out;
    resume_command(c, &again);
    str_addf(&sbatch, "%s%s%s", s->slurm_options, o->slurm_args ? " " : "", o->slurm_args ? o->slurm_args : "");
    static const char *const profile[] = {"--profile", NULL};
    int64_t *ids = xcalloc(n + 1, sizeof *ids);
    launch_options l = {.program = p->program,
                        .experiment = s->name,
                        .folder = folder,
                        .data_dir = p->data_dir,
                        .cache_dir = cache,
                        .device = o->device,
                        .gpus = o->slurm ? 0 : device_count(o->device),
                        .workers = (int)o->workers,
                        .threads = (int)o->threads,
                        .step_limit = (int)o->step_limit,
                        .progress = c->verbosity < 0 && o->progress == PROGRESS_AUTO ? PROGRESS_NONE
                                                                                     : (enum progress_mode)o->progress,
                        .resume_command = str_text(&again),
                        .slurm = o->slurm ? str_text(&sbatch) : NULL,
                        .per_task = (int)(o->per_task ? o->per_task : s->slurm_per_task),
                        .detach = o->detach,
                        .worker_args = o->profile ? profile : NULL};
    l.ranks = most_ranks(s);
    choose_runs(s, frozen, n, ids, &l);
    if (k->talk && same(s->name, k->experiment)) say_preflight(k->estimate, s, frozen, n, &l, c);
    sweep_options again_once = *o;
    char *line = xprintf("\n%s\n", s->name);
    if (strstr(str_text(&k->rerun_of), line)) again_once.rerun = -1;
    str_add(&k->rerun_of, line);
    free(line);
    db_counts now;
    if (!queue_again(d, s, &again_once, frozen, n, &l, k->talk, e) && !launch_runs(d, &l, &result, e) &&
        !db_count(d, ids, l.n, &now, e)) {
        code = now.of[DB_DONE] + now.of[DB_SKIPPED] == l.n ? 0 : 1;
        if (k->talk && !result.interrupted) show_gaps(&now);
    }
    free(ids);
out:
    free(folder);
    free(cache);
    free(frozen);
    str_free(&again);
    str_free(&sbatch);
    db_close(d);
    k->interrupted = result.interrupted;
    if (e->text[0]) return 1;
    if (result.interrupted) return 128 + result.interrupted;
    if (!o->detach || !result.left) return code;
    if (k->talk)
        fprintf(stderr,
                "%zu runs are in Slurm; `ablate sync %s` records their progress, the same command resumes them\n",
                result.left, s->name);
    k->away = true;
    return 0;
}

/* Does the experiment need results of its runs before it starts others? */
static bool waits_between(const spec *s)
{
    bool waits = *s->match || s->until.most;
    for (size_t i = 0; i < s->n_rows; i++) waits = waits || s->rows[i].n_tunes;
    return waits;
}

/* Puts the results of matching and searches into the spec, which is read again. Returns 0, or an exit code. */
static int prepare(spec *s, session *k, const trainer *t, prepared *found, err *e)
{
    int code = 0;
    str errors = {0};
    size_t tunes = 0;
    if (*s->match) code = match_rows(s, t, found, e);
    for (int round = 0; round < 2 && !code; round++) { /* first matching, then searches with the matched values */
        if (round) {
            for (size_t i = 0; i < s->n_rows; i++) tunes += s->rows[i].n_tunes;
            if (!tunes) break;
            code = search_rows(s, t, found, e);
        }
        if (code || !found->n) continue;
        k->wanted->chosen = found->chosen, k->wanted->n_chosen = found->n;
        spec_free(s);
        if (spec_read(s, k->c->word[0], k->wanted, t->plugins, &errors)) fail(e, "%s", str_text(&errors)), code = 2;
    }
    str_free(&errors);
    return code;
}

static int store_trials(const spec *s, const session *k, const prepared *found, err *e)
{
    if (!found->n_trials) return 0;
    db *d = db_open(&k->c->p.db, e);
    int bad = d ? db_put_trials(d, s->name, found->trials, found->n_trials, e) : -1;
    db_close(d);
    return bad;
}

static int run_spec(spec *s, sweep_options *o, spec_options *wanted, const sweep_estimate *x, const invocation *c,
                    err *e)
{
    session k = {.o = o,
                 .wanted = wanted,
                 .c = c,
                 .estimate = x,
                 .talk = o->progress != PROGRESS_JSON && o->progress != PROGRESS_NONE && c->verbosity >= 0};
    char *name = xstrdup(s->name); /* the spec is read again */
    k.experiment = name;
    trainer t = {train_spec, &k, &c->p.db, run_schemas(), k.talk};
    prepared found = {0};
    if (o->detach && waits_between(s)) {
        fail(e, "%s: searches, matched budgets and seeds = until ... must wait for runs; remove --detach", s->name);
        free(name);
        return 2;
    }
    int code = prepare(s, &k, &t, &found, e);
    bool ready = !code;
    if (ready) code = s->until.most ? train_until(s, &t, e) : train_spec(&k, s, e);
    if (ready && !e->text[0]) store_trials(s, &k, &found, e);
    prepared_free(&found);
    str_free(&k.rerun_of);
    free(name);
    wanted->chosen = NULL, wanted->n_chosen = 0;
    if (e->text[0]) return code ? code : 1;
    if (k.interrupted || k.away || !ready) return code;
    return show_table(s, &c->p, k.talk, e) ? 1 : code;
}

static const plugin_schemas *schemas_for(const char *path, const spec_options *o)
{
    str folders = {0};
    spec_plugin_path(path, o, &folders);
    plugin_add_path(str_text(&folders));
    str_free(&folders);
    return run_schemas();
}

static spec_options spec_options_of(sweep_options *o)
{
    if (o->ranks) {
        static char setting[32];
        snprintf(setting, sizeof setting, "ranks=%lld", (long long)o->ranks);
        o->set.at = xrealloc((void *)o->set.at, (o->set.n + 1) * sizeof *o->set.at);
        o->set.at[o->set.n++] = setting;
        o->ranks = 0;
    }
    return (spec_options){
        .set = o->set.at, .n_set = o->set.n, .only = o->only.at, .n_only = o->only.n, .seeds = o->seeds};
}

static int run(const invocation *c, void *typed)
{
    sweep_options *o = typed;
    err e = {0};
    if (take_workers(o, &e)) return call_usage(c, &e);
    if (o->nice) setpriority(PRIO_PROCESS, 0, 19); /* its workers inherit it */
    str errors = {0};
    spec s = {0};
    spec_options wanted = spec_options_of(o);
    int code = 2;
    if (o->device && device_check(o->device, &e)) return call_usage(c, &e);
    if (spec_read(&s, c->word[0], &wanted, schemas_for(c->word[0], &wanted), &errors)) {
        fprintf(stderr, "%s", str_text(&errors));
    } else {
        fprintf(stderr, "%s", str_text(&s.warnings));
        if (take_machine(&s, o, &e))
            code = 2;
        else if (o->dry_run)
            code = dry_run(&s, o, c, &e);
        else {
            sweep_estimate x;
            estimate_sweep(c, &x);
            pack(o, &s, &x, c->verbosity >= 0);
            code = check_data(&x, c, &e) ? 1 : run_spec(&s, o, &wanted, &x, c, &e);
            estimate_free(&x);
        }
        if (e.text[0]) call_failed(c, &e);
    }
    spec_free(&s);
    str_free(&errors);
    return code;
}

/* The process that estimate_sweep starts, with the arguments of `run`. */
static int estimate(const invocation *c, void *typed)
{
    sweep_options *o = typed;
    err e = {0};
    str errors = {0};
    spec s = {0};
    spec_options wanted = spec_options_of(o);
    int code = spec_read(&s, c->word[0], &wanted, schemas_for(c->word[0], &wanted), &errors) ? 2 : 0;
    bool dry = o->dry_run;
    o->dry_run = true;
    if (!code && take_machine(&s, o, &e)) code = 2;
    if (!code) code = estimate_print(&s, &c->p, o->device, o->threads, dry);
    spec_free(&s);
    str_free(&errors);
    return code;
}

#define AT(field) offsetof(sweep_options, field)
static const sweep_options defaults = {.rerun = -1, .step_limit = 1800};
static const option table[] = {
    {"-s", "KEY=VALUE", "override a setting of the INI's [base]; a list becomes a sweep", OPTION_LIST, AT(set),
     .words = WORDS_KEYS},
    {"--only", "ROW", "train only this row, group or pattern", OPTION_LIST, AT(only), .words = WORDS_ROWS},
    {"--seeds", "LIST", "seeds, such as 1..3 or 1,5 [the INI's]", OPTION_TEXT, AT(seeds)},
    OPTION_DATABASE,
    {"--device", "auto|cpu|cuda|cuda:N", "device to train on [auto]", OPTION_TEXT, AT(device), .words = WORDS_OWN},
    {"--workers", "N|auto",
     "runs at a time; auto: as many as fit cores (--threads, or 1, per run) and memory [one per device]", OPTION_TEXT,
     AT(at_a_time), .words = WORDS_OWN},
    {"--nice", NULL, "run at the lowest priority", OPTION_FLAG, AT(nice)},
    {"--threads", "N", "processor threads per run [all, shared by the runs at a time]", OPTION_COUNT, AT(threads), 1,
     MOST_THREADS},
    {"--ranks", "N", "processes that train a run together, same as -s ranks=N (docs/cluster.md) [the INI's]",
     OPTION_COUNT, AT(ranks), 1, 4096},
    {"--step-limit", "SECONDS", "end a run when a step takes longer; 0: never [1800]", OPTION_COUNT, AT(step_limit), 0,
     1e9},
    {"--no-check", NULL, "do not check new plugins before training", OPTION_FLAG, AT(no_check)},
    {"--dry-run", NULL, "print what the sweep takes and its rows as an INI; train nothing", OPTION_FLAG, AT(dry_run)},
    {"--launcher", "local|slurm", "run workers as processes on this machine or as tasks of a Slurm array job [local]",
     OPTION_WORD, AT(slurm)},
    {"--slurm-args", "TEXT", "options for sbatch, after those of [slurm] in the INI: \"-p cpu -t 4:00:00 -c 8\"",
     OPTION_TEXT, AT(slurm_args)},
    {"--runs-per-task", "N", "with Slurm: runs that share a task's cores [the INI's, or 1]", OPTION_COUNT, AT(per_task),
     1, 1024},
    {"--detach", NULL, "with Slurm: return after submitting the job; `ablate sync` records its progress", OPTION_FLAG,
     AT(detach)},
    {"--rerun", "failed|changed|all", "train again: failed runs, runs trained with another version of a plugin, or all",
     OPTION_WORD, AT(rerun)},
    {"--progress", "auto|tty|plain|json|none", "progress display on standard error [auto]", OPTION_WORD, AT(progress)},
    {"--profile", NULL, "print the time per operation in each run's log", OPTION_FLAG, AT(profile)},
    {0}};
const command run_command = {
    .name = "run",
    .does = "expand a sweep, train missing runs, print the table",
    .about = "The same command resumes a killed or interrupted sweep. docs/ini.md describes the INI.",
    .arguments = "SPEC.ini",
    .least = 1,
    .most = 1,
    .missing = "expected an INI file",
    .options = table,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = run,
    .example = "ablate run experiments/quick.ini -s steps=200 --seeds 1..3"};
const command estimate_command = {.name = "estimate",
                                  .least = 1,
                                  .most = 1,
                                  .options = table,
                                  .defaults = &defaults,
                                  .size = sizeof defaults,
                                  .run = estimate};
