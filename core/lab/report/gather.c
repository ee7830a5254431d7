/* gather.c - computes means, deviations, differences from base and their tests from the runs of an experiment. */
#include "lab/report/gather.h"
#include "lab/statistics/stream.h"
#include "text/metric/stats.h"
#include "lab/report/changed.h"
#include "base/cleanup.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

const char *paper_table_of(const char *name)
{
    static const char *const tables[] = {"table1", "table2", "table3", "table4"};
    for (size_t i = 0; name && i < LENGTH(tables); i++)
        if (has_prefix(name, tables[i]) && !isalnum((unsigned char)name[strlen(tables[i])])) return tables[i];
    return NULL;
}

void measure_runs(const read_row *of, const char *metric, measure *x, arena *a)
{
    double sum = 0, squares = 0;
    size_t without = 0; /* runs that lack the metric although they did not diverge: then the row has no value */
    *x = (measure){.values = arena_alloc(a, (of->n_runs + 1) * sizeof *x->values)};
    for (size_t i = 0; i < of->n_runs; i++) {
        const read_run *run = &of->runs[i];
        const read_result *r = run->status == DB_DONE ? read_result_of(run, metric) : NULL;
        if (r && isfinite(r->value))
            x->values[x->n++] = r->value;
        else if (r || run_diverged(run))
            x->diverged++;
        else if (run->status == DB_DONE)
            without++;
    }
    if (!x->n && without) x->diverged = 0;
    for (size_t i = 0; i < x->n; i++) sum += x->values[i];
    x->mean = x->n ? sum / (double)x->n : NAN;
    for (size_t i = 0; i < x->n; i++) squares += (x->values[i] - x->mean) * (x->values[i] - x->mean);
    x->sd = x->n > 1 ? sqrt(squares / (double)(x->n - 1)) : NAN;
}

/* Adds a result's direction, unit and aggregation to its metric. */
static void add_facts(metric *m, const read_result *r)
{
    const aggregation *sum = sum_of(r);
    if (r->direction) m->direction = metric_direction(r->direction);
    if (r->unit) m->unit = r->unit;
    if (sum) m->sum = sum;
}

static void measure_row(gathered *g, gathered_row *row, arena *a)
{
    const read_row *of = row->row;
    row->of = arena_alloc(a, (g->n_metrics + 1) * sizeof *row->of);
    row->parameters = NAN;
    row->why_skipped = of->not_applicable;
    row->paper = NO_ROW;
    for (size_t i = 0; i < of->n_runs; i++) {
        const read_run *run = &of->runs[i];
        row->done += run->status == DB_DONE;
        row->failed += run->status == DB_FAILED;
        row->open += run->status == DB_QUEUED || run->status == DB_RUNNING || run->status == DB_KILLED;
        if (run->status == DB_SKIPPED && !row->why_skipped) row->why_skipped = run->error;
        if (isfinite(run->parameters)) row->parameters = run->parameters;
    }
    for (size_t m = 0; m < g->n_metrics; m++) {
        measure_runs(of, g->metrics[m], &row->of[m], a);
        for (size_t i = 0; i < of->n_runs; i++) {
            const read_result *r = of->runs[i].status == DB_DONE ? read_result_of(&of->runs[i], g->metrics[m]) : NULL;
            if (r) add_facts(&g->facts[m], r);
            if (r && r->signature && g->signatures[m] && !same(g->signatures[m], r->signature))
                g->signatures[m] = "several";
            else if (r && r->signature)
                g->signatures[m] = r->signature;
        }
    }
}

static int index_of(const gathered *g, const char *metric)
{
    for (size_t m = 0; metric && m < g->n_metrics; m++)
        if (same(g->metrics[m], metric)) return (int)m;
    return NO_HEADLINE;
}

/* Finds the metric that a user's name means, in an import the one of exactly this name; NULL: none. */
static const char *metric_of(const gathered *g, const char *name)
{
    for (size_t i = 0; g->foreign && name && i < g->x.n_metrics; i++)
        if (same(g->x.metrics[i], name)) return g->x.metrics[i];
    size_t m = name ? metric_named(g->x.metrics, g->x.n_metrics, name) : g->x.n_metrics;
    return m < g->x.n_metrics ? g->x.metrics[m] : NULL;
}

static int choose_metrics(gathered *g, const table_options *o, arena *a, err *e)
{
    size_t n = o->n_metrics ? o->n_metrics : g->x.n_metrics;
    const char *const *from = o->n_metrics ? o->metrics : g->x.metrics;
    g->metrics = arena_alloc(a, (n + 1) * sizeof *g->metrics);
    g->facts = arena_alloc(a, (n + 1) * sizeof *g->facts);
    g->signatures = arena_alloc(a, (n + 1) * sizeof *g->signatures);
    g->headings = arena_alloc(a, (n + 1) * sizeof *g->headings);
    for (size_t i = 0; i < n; i++) {
        const char *found = o->n_metrics ? metric_of(g, from[i]) : from[i];
        if (!found) {
            return fail(e, "experiment \"%s\": found no metric \"%s\"%s", g->x.name, from[i],
                        suggestion(from[i], g->x.metrics, g->x.n_metrics, "\""));
        }
        g->facts[g->n_metrics] = (metric){.name = found};
        g->metrics[g->n_metrics++] = found;
    }
    return 0;
}

/* Returns a setting's text, or NULL. */
static const char *text_set(const read_row *row, const char *key, arena *a)
{
    cJSON *config = cJSON_Parse(row->config_json);
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, key));
    text = text ? arena_strdup(a, text) : NULL;
    cJSON_Delete(config);
    return text;
}

/* Adds to each metric's name the split that it scores. The name or the signature gives the split; if neither does, a
 * task's score gets the split that the runs decoded. */
static void make_headings(gathered *g, arena *a)
{
    const char *task = g->x.n_rows ? text_set(&g->x.rows[0], "task", a) : NULL, *decoded = NULL;
    g->passage = task && same(task, "lm");
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const char *part = text_set(&g->x.rows[i], "decode_split", a);
        bool one = part && (same(part, "dev") || same(part, "test")) && (!i || (decoded && same(part, decoded)));
        decoded = one ? part : NULL;
    }
    for (size_t m = 0; m < g->n_metrics; m++) {
        size_t plain;
        const char *how = g->signatures[m], *split = metric_split(g->metrics[m], how, &plain);
        bool by_task = g->facts[m].sum && !has_prefix(g->metrics[m], "contrast") && !(how && same(how, "several"));
        if (!split && by_task) split = decoded;
        g->headings[m] = split ? arena_printf(a, "%.*s (%s)", (int)plain, g->metrics[m], split) : g->metrics[m];
    }
}

static double number_of(const cJSON *o, const char *name, double otherwise)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);
    return cJSON_IsNumber(v) ? v->valuedouble : otherwise;
}

static bool is_last_of(const db_trial *t, size_t n, const char *row, const char *key, double value, double sign)
{
    bool last = true;
    for (size_t i = 0; i < n; i++) {
        if (!same(t[i].row, row)) continue;
        cJSON *tried = cJSON_Parse(t[i].settings);
        last = last && sign * (number_of(tried, key, value) - value) <= 0;
        cJSON_Delete(tried);
    }
    return last;
}

/* Lists the row's searched values that are the lowest or highest tried; NULL: none. */
static const char *edges_of(const gathered *g, const char *row, arena *a)
{
    const db_trial *t = g->trials_made, *chosen = NULL;
    const char *text = NULL;
    char number[32];
    int64_t candidates = 0;
    for (size_t i = 0; i < g->n_trials; i++) {
        if (!same(t[i].row, row)) continue;
        if (same(t[i].outcome, "chosen")) chosen = &t[i];
        if (t[i].n > candidates) candidates = t[i].n;
    }
    cJSON *all = chosen ? cJSON_Parse(chosen->settings) : NULL;
    const cJSON *one;
    cJSON_ArrayForEach(one, all)
    {
        double value = cJSON_IsNumber(one) ? one->valuedouble : NAN;
        bool lowest = is_last_of(t, g->n_trials, row, one->string, value, -1),
             highest = is_last_of(t, g->n_trials, row, one->string, value, 1);
        if (isnan(value) || lowest == highest) continue;
        text = arena_printf(a, "%s%s%s = %s, the %s of %lld", text ? text : "", text ? "; " : "", one->string,
                            format_real(value, number), lowest ? "lowest" : "highest", (long long)candidates);
    }
    cJSON_Delete(all);
    return text;
}

static void read_rules(gathered *g, arena *a)
{
    g->judged = analysis_read(g->x.analysis, a);
    const char *metric = metric_of(g, g->judged.criterion.metric);
    if (metric) g->judged.criterion.metric = metric;
}

double gathered_minutes(const gathered_row *row)
{
    double least = NAN;
    for (size_t i = 0; i < row->row->n_runs; i++) {
        const read_run *r = &row->row->runs[i];
        if (r->status == DB_DONE) least = fmin(least, (r->ended_at - r->started_at) / 60);
    }
    return least;
}

double gathered_budget(const gathered_row *row, const char *by)
{
    double sum = 0, n = 0;
    cJSON *config = cJSON_Parse(row->row->config_json);
    /* largest number of source or target tokens per step */
    double step = number_of(config, "batch_tokens", NAN) * number_of(config, "gradient_accumulation", 1);
    cJSON_Delete(config);
    for (size_t i = 0; i < row->row->n_runs; i++) {
        const read_run *r = &row->row->runs[i];
        double own = same(by, "params")  ? r->parameters
                     : same(by, "flops") ? r->flops_step * (double)r->total_steps
                     : same(by, "core")  ? r->core_seconds
                     : same(by, "time")  ? 2 * step * (double)r->total_steps / r->tokens_second
                                         : r->seconds;
        if (r->status == DB_DONE && isfinite(own) && own > 0) sum += own, n++;
    }
    return n ? sum / n : NAN;
}

/* Chooses the metric of delta and p: the first requested one; else the experiment's; else the task's own, which says
 * more than the metrics of every run: the first where higher is better (BLEU, F1, accuracy), or its first
 * (bits_per_byte); else the first of all. */
static int choose_headline(const gathered *g, const table_options *o)
{
    if (!g->n_metrics) return NO_HEADLINE;
    if (o->n_metrics) return 0;
    if (index_of(g, g->judged.criterion.metric) >= 0) return index_of(g, g->judged.criterion.metric);
    if (index_of(g, metric_of(g, g->x.headline)) >= 0) return index_of(g, metric_of(g, g->x.headline));
    int first = index_of(g, metric_of(g, g->metrics[0]));
    for (size_t m = g->n_metrics; m--;)
        if (!metric_of_every_run(g->metrics[m])) first = (int)m;
    for (size_t m = 0; m < g->n_metrics; m++)
        if (!metric_of_every_run(g->metrics[m]) && metric_better(&g->facts[m], 1, 0) > 0) return (int)m;
    return first;
}

gathered_row *gathered_base(const gathered *g)
{
    for (size_t i = 0; i < g->x.n_rows; i++)
        if (g->rows[i].row->is_base) return &g->rows[i];
    return NULL;
}

bool gathered_is_base(const gathered *g, const gathered_row *row)
{
    return row->base != NO_ROW && row->row->runs == g->rows[row->base].row->runs;
}

double gathered_median(const gathered *g, size_t metric, double (*number)(const comparison *))
{
    AUTOFREE double *v = xmalloc((g->x.n_rows + 1) * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        double one = number(&g->rows[i].against[metric]);
        if (isfinite(one) && !g->x.rows[i].same_as) v[n++] = one;
    }
    return stats_median(v, n);
}

size_t row_named(const read_experiment *x, const char *name)
{
    for (size_t i = 0; i < x->n_rows && name; i++)
        if (same(x->rows[i].name, name)) return i;
    return NO_ROW;
}

/* Finds each row's base: the experiment's or, for rows of a condition, base under that condition. */
static void find_bases(gathered *g)
{
    const gathered_row *base = gathered_base(g);
    for (size_t i = 0; i < g->x.n_rows; i++) g->rows[i].base = base ? (size_t)(base - g->rows) : NO_ROW;
    for (size_t k = 0; k < g->judged.n_conditions; k++) {
        const text_list *names = &g->judged.conditions[k];
        for (size_t i = 0; i < names->n; i++) {
            size_t row = row_named(&g->x, names->at[i]);
            if (row != NO_ROW) g->rows[row].base = row_named(&g->x, names->at[0]);
        }
    }
}

void gathered_stream(gathered *g, size_t metric, double level)
{
    size_t n = 0;
    for (size_t i = 0; i < g->x.n_rows; i++)
        if (g->x.rows[i].place > n) n = g->x.rows[i].place;
    AUTOFREE double *p = xmalloc((2 * n + 1) * sizeof *p);
    double *levels = p + n;
    for (size_t t = 0; t < n; t++) p[t] = NAN;
    for (size_t i = 0; i < g->x.n_rows; i++)
        if (g->x.rows[i].place) p[g->x.rows[i].place - 1] = g->rows[i].against[metric].p;
    stream_levels(p, n, level, levels);
    for (size_t i = 0; i < g->x.n_rows; i++)
        if (g->x.rows[i].place) g->rows[i].against[metric].stream_level = levels[g->x.rows[i].place - 1];
}

/* Compares every row with its base in every metric. */
static void compare_to_bases(gathered *g, const table_options *o, bool find_best, arena *a)
{
    const read_row **rows = arena_alloc(a, (g->x.n_rows + 1) * sizeof *rows);
    size_t *bases = arena_alloc(a, (g->x.n_rows + 1) * sizeof *bases);
    comparison *all = arena_alloc(a, (g->x.n_rows * g->n_metrics + 1) * sizeof *all),
               *of = arena_alloc(a, (g->x.n_rows + 1) * sizeof *of);
    const comparison_criterion *k = &g->judged.criterion;
    comparison_task t = {.rows = rows, .n = g->x.n_rows, .base = g->x.n_rows, .all_model_tests = o->full};
    for (size_t i = 0; i < g->x.n_rows; i++) {
        rows[i] = g->rows[i].row;
        g->rows[i].against = all + i * g->n_metrics;
        if (rows[i]->is_base) t.base = i;
        bases[i] = g->rows[i].base == NO_ROW ? t.n : g->rows[i].base;
    }
    t.bases = g->judged.n_conditions ? bases : NULL;
    for (size_t m = 0; m < g->n_metrics; m++) {
        bool headline = (int)m == g->headline;
        size_t best = t.n;
        t.metric = &g->facts[m];
        t.trials = headline || o->full ? g->trials : 0; /* shuffling takes long */
        bool judged = k->given && (*k->metric ? same(k->metric, t.metric->name) : headline);
        t.sequential = judged && g->judged.until.most, t.base_seeds = (size_t)g->judged.until.base;
        t.margin = judged ? k->margin : 0, t.one_sided = k->one_sided;
        t.failed_as = judged && !isnan(k->failed_as) ? &k->failed_as : NULL;
        size_t tests = compare_rows(&t, of, find_best ? &best : NULL);
        for (size_t i = 0; i < t.n; i++) {
            if (judged) of[i].verdict = comparison_verdict(&of[i], k, t.metric);
            of[i].detectable = comparison_detectable(&of[i]);
            g->rows[i].against[m] = of[i];
        }
        if (headline) g->tests = tests;
        if (best < t.n) g->rows[best].of[m].best = true;
        gathered_stream(g, m, judged ? k->level : 0.05);
    }
}

/* Finds the published row by key, or by the label in the second column. */
static size_t find_paper(const read_published *t, const char *text)
{
    for (size_t column = 0; column < 2 && column < t->n_columns; column++)
        for (size_t i = 0; i < t->n_rows; i++)
            if (same(t->cells[i * t->n_columns + column], text)) return i;
    return NO_ROW;
}

static int join_paper(gathered *g, arena *a, err *e)
{
    const char *table = g->x.paper_table && *g->x.paper_table ? g->x.paper_table : paper_table_of(g->x.name);
    if (!table)
        return fail(e,
                    "experiment \"%s\": belongs to no published table; name a table in the INI's [experiment], such as "
                    "`paper = table3`",
                    g->x.name);
    int rc = published_read(table, a, &g->paper, e);
    if (rc > 0) rc = fail(e, "experiment \"%s\": found no published table \"%s\"", g->x.name, table);
    if (rc) return -1;
    g->has_paper = true;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const read_row *row = g->rows[i].row;
        g->rows[i].paper = find_paper(&g->paper, row->paper_row ? row->paper_row : row->name);
    }
    return 0;
}

int gather(reader *r, const char *name, const table_options *o, bool find_best, arena *a, gathered *g, err *e)
{
    *g = (gathered){.headline = NO_HEADLINE,
                    .trials = o->trials ? o->trials : STATS_TRIALS,
                    .full = o->full,
                    .page = o->ini,
                    .sustained = o->sustained};
    int rc = reader_experiment(r, name, READ_STATS, a, &g->x, e);
    if (rc) return rc;
    for (size_t i = 0; i < g->x.n_rows; i++)
        for (size_t k = 0; k < g->x.rows[i].n_runs; k++) g->foreign = g->foreign || g->x.rows[i].runs[k].foreign;
    read_rules(g, a);
    if (reader_trials(r, g->x.name, a, &g->trials_made, &g->n_trials, e) ||
        reader_old_verdicts(r, g->x.name, a, &g->old_verdicts, &g->n_old, e) || choose_metrics(g, o, a, e))
        return -1;
    g->rows = arena_alloc(a, (g->x.n_rows + 1) * sizeof *g->rows);
    changed *plugins = changed_new();
    for (size_t i = 0; i < g->x.n_rows; i++) {
        g->rows[i].row = &g->x.rows[i];
        measure_row(g, &g->rows[i], a);
        for (size_t k = 0; k < g->x.rows[i].n_runs; k++) {
            const read_run *run = &g->x.rows[i].runs[k];
            if (run->status == DB_DONE && run->check_failed) g->rows[i].unsound = run->check_failed;
            g->rows[i].changed += run->status == DB_DONE && !run->recorded &&
                                  changed_since(plugins, run->plugins_json, run->plugins_loaded);
        }
    }
    changed_free(plugins);
    make_headings(g, a);
    for (size_t i = 0; i < g->x.n_rows && !g->foreign; i++)
        if (!g->x.rows[i].same_as) g->rows[i].edge = edges_of(g, g->x.rows[i].name, a);
    g->headline = choose_headline(g, o);
    find_bases(g);
    for (size_t i = 0; i < g->x.n_rows && g->headline >= 0; i++) {
        size_t n = g->rows[i].of[g->headline].n;
        if (!n) continue;
        if (!g->seeds_least || n < g->seeds_least) g->seeds_least = n;
        if (n > g->seeds_most) g->seeds_most = n;
    }
    compare_to_bases(g, o, find_best, a);
    if (o->vs_recorded && gather_recorded(r, g, a, e)) return -1;
    bool beside = o->ini && ((g->x.paper_table && *g->x.paper_table) || paper_table_of(g->x.name));
    return o->vs_paper || beside ? join_paper(g, a, e) : 0;
}

const char *gathered_label(const gathered_row *row, arena *a)
{
    if (!row->row->exploratory && !row->edge) return row->row->name;
    return arena_printf(a, "%s (%s%s%s)", row->row->name, row->row->exploratory ? "exploratory" : "",
                        row->row->exploratory && row->edge ? ", " : "", row->edge ? "at an edge" : "");
}

const char *gathered_signed(double x, int decimals, arena *a)
{
    const char *text = arena_printf(a, "%.*f", decimals, fabs(x));
    bool zero = !text[strspn(text, "0.")];
    return arena_printf(a, "%s%s", zero ? "" : x < 0 ? "−" : "+", text);
}

const char *gathered_verdict(const gathered *g, const gathered_row *row)
{
    static const comparison_criterion usual = {.level = 0.05, .seeds = 3, .failed_as = NAN};
    const comparison *c = &row->against[g->headline];
    return g->judged.criterion.given ? c->verdict : comparison_verdict(c, &usual, &g->facts[g->headline]);
}

const char *gathered_no_interval(const comparison *c)
{
    double value = c->percent ? 100 : fabs(c->planned_base.mean);
    bool two = c->n == 2 || c->n_base == 2;
    return two && c->high - c->low > value ? "n = 2: no interval" : NULL;
}
