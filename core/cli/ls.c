/* ls.c - ablate ls: lists the database's experiments, or the runs of one. */
#include "cli/options.h"
#include "cli/results.h"
#include "lab/report/row_runs.h"
#include "lab/launch/launch.h"
#include <math.h>
#include <string.h>

typedef struct {
    bool json, older, recorded;
} ls_options;

/* ---- runs that Slurm jobs hold ---- */

typedef struct {
    read_away *run;
    char (*state)[SLURM_STATE]; /* states of the runs' tasks: PENDING, RUNNING ...; "": squeue does not know the task */
    size_t n;
} away_list;

/* Finds the runs that Slurm jobs hold, of one experiment, or of all for NULL. */
static int find_away(reader *r, const char *experiment, arena *a, away_list *out, err *e)
{
    if (reader_away(r, a, &out->run, &out->n, e)) return -1;
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++)
        if (!experiment || same(out->run[i].experiment, experiment)) out->run[n++] = out->run[i];
    const char **task = arena_alloc(a, (n + 1) * sizeof *task);
    for (size_t i = 0; i < n; i++) task[i] = out->run[i].task;
    out->n = n;
    out->state = arena_alloc(a, (n + 1) * sizeof *out->state);
    slurm_states(task, out->state, n);
    return 0;
}

static const char *state_of(const away_list *l, int64_t run)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->run[i].run == run && *l->state[i]) return l->state[i];
    return NULL;
}

/* Is the run claimed, but its task not started? */
static bool waits(const char *state) { return state && !same(state, "RUNNING") && !same(state, "COMPLETING"); }

/* Counts runs with waiting tasks as queued. */
static void count_waiting(const away_list *l, read_listed *list, size_t n)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < n; k++)
            if (*l->state[i] && waits(l->state[i]) && same(list[k].name, l->run[i].experiment))
                list[k].running--, list[k].queued++;
}

/* ---- experiments ---- */

enum { COUNTS = 8 };
static const char *const counted[COUNTS] = {"rows", "runs", "done", "running", "queued", "failed", "killed", "skipped"};

static void counts_of(const read_listed *x, int64_t out[COUNTS])
{
    const int64_t n[COUNTS] = {x->rows, x->runs, x->done, x->running, x->queued, x->failed, x->killed, x->skipped};
    memcpy(out, n, sizeof n);
}

static void experiment_json(const read_listed *x, str *out)
{
    int64_t n[COUNTS];
    counts_of(x, n);
    json_line(out);
    str_addc(out, '{');
    json_key_text(out, "experiment", x->name);
    for (size_t k = 0; k < COUNTS; k++) json_key_whole(out, counted[k], n[k]);
    json_key_time(out, "created", x->created_at);
    json_key_text(out, "note", x->note);
    str_addc(out, '}');
}

static void experiments_grid(const read_listed *list, size_t n, grid *t)
{
    grid_column(t, "experiment", false);
    for (size_t k = 0; k < COUNTS; k++) grid_column(t, counted[k], true);
    grid_column(t, "since", false);
    grid_column(t, "note", false);
    for (size_t i = 0; i < n; i++) {
        const read_listed *x = &list[i];
        int64_t count[COUNTS];
        counts_of(x, count);
        grid_row(t, false);
        grid_set(t, 0, "%s", x->name);
        for (size_t k = 0; k < COUNTS; k++) grid_set(t, k + 1, "%lld", (long long)count[k]);
        print_local_time(t, 9, x->created_at);
        grid_set(t, 10, "%s", x->note ? x->note : "");
    }
}

static void print_older(const invocation *c, reader *r, const char *experiment)
{
    size_t n = 0;
    if (reader_older_count(r, experiment, &n, NULL) || !n) return;
    call_say(c, "%zu older run%s with other settings %s left out: `ablate ls %s --older` lists %s.\n", n,
             n == 1 ? "" : "s", n == 1 ? "is" : "are", experiment, n == 1 ? "it" : "them");
}

static int list_experiments(const invocation *c, reader *r, bool json, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_listed *list;
    size_t n;
    away_list away = {0};
    int rc = reader_list(r, &a, &list, &n, e) || find_away(r, NULL, &a, &away, e) ? -1 : 0;
    if (!rc) count_waiting(&away, list, n);
    if (!rc && json) {
        str out = {0};
        for (size_t i = 0; i < n; i++) experiment_json(&list[i], &out);
        json_print_lines(&out);
    } else if (!rc) {
        CLEANUP(grid_free) grid t = {0};
        experiments_grid(list, n, &t);
        print_grid(&t);
        const char *const *names;
        size_t recorded = 0;
        if (!reader_recorded_names(r, &a, &names, &recorded, NULL) && recorded)
            call_say(c, "%zu recorded experiments can be read by name (`ablate ls --recorded`).\n", recorded);
        for (size_t i = 0; i < n; i++) print_older(c, r, list[i].name);
        call_say(c, n ? "`ablate ls EXPERIMENT` lists its runs.\n"
                      : "No experiments yet: try `ablate run experiments/quick.ini`\n");
    }
    return rc;
}

/* ---- runs ---- */

static void run_json(const read_row *row, const read_run *run, const away_list *away, str *out)
{
    json_line(out);
    str_addc(out, '{');
    json_key_whole(out, "run", run->id);
    json_key_text(out, "row", row->name);
    json_key_text(out, "change", row->change);
    json_key_whole(out, "seed", run->seed);
    json_key_text(out, "status", run_status(run));
    json_key_text(out, "slurm", state_of(away, run->id));
    json_key_bool(out, "recorded", run->recorded);
    json_key_bool(out, "imported", run->foreign);
    json_key_real(out, "step", run->step >= 0 ? (double)run->step : NAN);
    json_key_real(out, "steps", run->total_steps >= 0 ? (double)run->total_steps : NAN);
    json_open(out, "results", '{');
    for (size_t k = 0; k < run->n_results; k++) json_key_real(out, run->results[k].metric, run->results[k].value);
    str_addc(out, '}');
    json_key_time(out, "started", run->started_at);
    json_key_time(out, "ended", run->ended_at);
    json_key_text(out, "host", run->host);
    json_key_text(out, "error", run->error);
    str_addc(out, '}');
}

static void print_run(grid *t, const read_experiment *x, const read_row *row, const read_run *run,
                      const away_list *away)
{
    size_t c = 0;
    const char *state = state_of(away, run->id);
    grid_row(t, false);
    grid_set(t, c++, "%lld", (long long)run->id);
    grid_set(t, c++, "%s", row->name);
    grid_set(t, c++, "%lld", (long long)run->seed);
    grid_set(t, c++, "%s%s%s%s", waits(state) ? "queued" : run_status(run), waits(state) ? ", Slurm: " : "",
             waits(state) ? state : "", read_origin(run));
    if (run->step >= 0 && run->total_steps >= 0)
        grid_set(t, c, "%lld/%lld", (long long)run->step, (long long)run->total_steps);
    c++;
    for (size_t m = 0; m < x->n_metrics; m++, c++)
        for (size_t k = 0; k < run->n_results; k++) {
            if (!same(run->results[k].metric, x->metrics[m])) continue;
            if (isfinite(run->results[k].value))
                grid_set(t, c, "%.5g", run->results[k].value);
            else
                grid_set(t, c, "diverged");
        }
    if (isfinite(run->seconds)) grid_set(t, c, "%.0f s", run->seconds);
    c++;
    if (run->host) grid_set(t, c, "%s", run->host);
    c++;
    if (run->error) grid_set(t, c, "%.*s", (int)strcspn(run->error, "\n"), run->error);
}

static void runs_grid(const read_experiment *x, const away_list *away, grid *t)
{
    static const char *const leading[] = {"run", "row", "seed", "status", "step"};
    for (size_t i = 0; i < LENGTH(leading); i++) grid_column(t, leading[i], i == 0 || i == 2 || i == 4);
    for (size_t m = 0; m < x->n_metrics; m++) grid_column(t, x->metrics[m], true);
    grid_column(t, "time", true);
    grid_column(t, "host", false);
    grid_column(t, "error", false);
    for (size_t i = 0; i < x->n_rows; i++)
        for (size_t k = 0; k < x->rows[i].n_runs && !x->rows[i].same_as; k++)
            print_run(t, x, &x->rows[i], &x->rows[i].runs[k], away);
}

static void older_json(const read_older *x, str *out)
{
    json_line(out);
    str_addc(out, '{');
    json_key_whole(out, "run", x->run);
    json_key_text(out, "row", x->row);
    json_key_whole(out, "seed", x->seed);
    json_key_text(out, "status", db_status_text(x->status));
    json_key_text(out, "settings", x->settings);
    json_key_time(out, "ended", x->ended_at);
    str_addc(out, '}');
}

/* Lists runs that the table omits, with the settings that are no longer the row's. */
static int list_older(reader *r, const char *name, bool json, err *e)
{
    static const char *const headings[] = {"run", "row", "seed", "status", "ended", "settings that differ"};
    CLEANUP(arena_free) arena a = {0};
    read_older *list;
    size_t n;
    int rc = reader_older(r, name, &a, &list, &n, e);
    CLEANUP(grid_free) grid t = {0};
    str out = {0};
    for (size_t i = 0; i < LENGTH(headings); i++) grid_column(&t, headings[i], i == 0 || i == 2);
    for (size_t i = 0; i < n && !rc; i++) {
        if (json) older_json(&list[i], &out);
        grid_row(&t, false);
        grid_set(&t, 0, "%lld", (long long)list[i].run);
        grid_set(&t, 1, "%s", list[i].row);
        grid_set(&t, 2, "%lld", (long long)list[i].seed);
        grid_set(&t, 3, "%s", db_status_text(list[i].status));
        print_local_time(&t, 4, list[i].ended_at);
        grid_set(&t, 5, "%s", list[i].settings ? list[i].settings : "");
    }
    if (!rc && json) json_print_lines(&out);
    if (!rc && !json) print_grid(&t);
    return rc;
}

static int list_runs(const invocation *c, reader *r, const char *name, bool json, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_experiment x;
    int rc = reader_experiment(r, name, READ_VALUES, &a, &x, e);
    away_list away = {0};
    if (rc == 1) rc = fail(e, "found no experiment \"%s\"; `ablate ls` lists the experiments", name);
    if (!rc) rc = find_away(r, x.name, &a, &away, e);
    if (!rc && json) {
        str out = {0};
        for (size_t i = 0; i < x.n_rows; i++)
            for (size_t k = 0; k < x.rows[i].n_runs && !x.rows[i].same_as; k++)
                run_json(&x.rows[i], &x.rows[i].runs[k], &away, &out);
        json_print_lines(&out);
    } else if (!rc) {
        CLEANUP(grid_free) grid t = {0};
        runs_grid(&x, &away, &t);
        print_grid(&t);
        print_older(c, r, x.name);
    }
    return rc;
}

/* Lists the experiments that the project recorded. */
static int list_recorded(reader *r, bool json, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    const char *const *names;
    size_t n;
    int rc = reader_recorded_names(r, &a, &names, &n, e);
    str out = {0};
    for (size_t i = 0; i < n && !rc; i++)
        if (json)
            json_line(&out), json_string(&out, names[i]);
        else
            puts(names[i]);
    if (!rc && json) json_print_lines(&out);
    return rc;
}

static int ls(const invocation *c, void *options)
{
    const ls_options *o = options;
    err e = {0};
    if (o->older && !c->n_words) return call_usage(c, "--older needs an experiment");
    if (o->recorded && (o->older || c->n_words))
        return call_usage(c, "--recorded cannot be combined with %s", c->n_words ? "an experiment" : "--older");
    CLEANUP(reader_end) reader *r = (o->recorded || c->n_words ? reader_open_any : reader_open)(&c->p.db, &e);
    int rc = !r            ? -1
             : o->recorded ? list_recorded(r, o->json, &e)
             : o->older    ? list_older(r, c->word[0], o->json, &e)
             : c->n_words  ? list_runs(c, r, c->word[0], o->json, &e)
                           : list_experiments(c, r, o->json, &e);
    return rc ? call_failed(c, &e) : 0;
}

static const option options[] = {
    OPTION_JSON(offsetof(ls_options, json)),
    {"--recorded", NULL, "list the project's recorded experiments (experiments/recorded), which commands find by name",
     OPTION_FLAG, offsetof(ls_options, recorded)},
    {"--older", NULL, "list the older runs, which the table leaves out because their row has other settings now",
     OPTION_FLAG, offsetof(ls_options, older)},
    OPTION_DATABASE,
    {0}};
const command ls_command = {.name = "ls",
                            .part = FOR_RESULTS,
                            .does = "list the experiments in the database, or the runs of one",
                            .arguments = "[EXPERIMENT]",
                            .choices = CHOICES_EXPERIMENTS,
                            .options = options,
                            .size = sizeof(ls_options),
                            .run = ls,
                            .example = "ablate ls quick"};
