/* runs.c - makes runs of records: a result per metric, curves, and scores per example. */
#include "lab/foreign/foreign.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LEAST_EXAMPLES = 2, MOST_RESULTS = 800000, MOST_CONFIGS = 10000 };

void foreign_warn(foreign *f, const char *fmt, ...)
{
    va_list ap;
    char text[1024];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    f->warnings = grow(f->warnings, &f->cap_warnings, f->n_warnings + 1, sizeof *f->warnings);
    f->warnings[f->n_warnings++] = arena_strdup(&f->mem, text);
}

bool foreign_is_setting(const foreign *f, size_t c)
{
    return f->r.of[c] == ROLE_SETTING || (f->r.of[c] == ROLE_ROW && f->r.n_row > 1);
}

const char *foreign_setting(const foreign *f, size_t config, size_t column)
{
    return sheet_cell(&f->s, f->config_record[config], column);
}

/* ---- cells ---- */

static int bad_cell(const foreign *f, size_t record, const char *what, const char *found, const char *expected, err *e)
{
    const sheet_record *r = &f->s.records[record];
    return fail(e, "%s:%zu: %s: found %s%.60s%s, expected %s", r->file, r->line, what, found ? "\"" : "",
                found ? found : "nothing", found ? "\"" : "", expected);
}

/* Reads a value, "81.2%" as 81.2. 1: a value, NaN if it is not finite; 0: none ("", "null", "-"); -1. */
static int read_value(const foreign *f, size_t record, const char *metric, const char *cell, double *out, err *e)
{
    static const char *const none[] = {"null", "none", "n/a", "na", "-"};
    static const char *const not_finite[] = {"nan", "inf", "-inf", "+inf", "infinity", "-infinity"};
    if (!cell) return 0;
    if (parse_real(cell, out)) return 1;
    for (size_t i = 0; i < LENGTH(none); i++)
        if (!strcasecmp(cell, none[i])) return 0;
    *out = NAN;
    for (size_t i = 0; i < LENGTH(not_finite); i++)
        if (!strcasecmp(cell, not_finite[i])) return 1;
    char text[64];
    snprintf(text, sizeof text, "%s", cell);
    size_t n = strlen(text);
    if (n && text[n - 1] == '%') text[n - 1] = 0;
    return parse_real(trim(text), out) ? 1 : bad_cell(f, record, metric, cell, "a number", e);
}

static int read_whole(const foreign *f, size_t record, size_t column, double most, int64_t *out, err *e)
{
    const char *cell = sheet_cell(&f->s, record, column);
    double v;
    if (!cell) return 0;
    if (!parse_real(cell, &v) || v != floor(v) || v < 0 || v > most)
        return bad_cell(f, record, f->s.columns.at[column], cell, "a whole number that is not negative", e);
    *out = (int64_t)v;
    return 0;
}

static int row_name(const foreign *f, size_t record, str *out, err *e)
{
    const roles *r = &f->r;
    bool keys = r->n_row > 1 || r->of[r->row[0]] == ROLE_SETTING;
    str_clear(out);
    for (size_t i = 0; i < r->n_row; i++) {
        const char *cell = sheet_cell(&f->s, record, r->row[i]), *column = f->s.columns.at[r->row[i]];
        if (!cell && !keys) return bad_cell(f, record, column, NULL, "the name of a row", e);
        if (out->n) str_addc(out, ' ');
        if (keys) str_addf(out, "%s=", column);
        str_add(out, cell ? cell : "");
    }
    for (char *p = out->s; p && *p; p++)
        if (*p == '@') *p = '~'; /* in EXPERIMENT/ROW@SEED, @ begins the seed */
    return 0;
}

static size_t config_of(foreign *f, size_t record, const char *row)
{
    str key = {0};
    bool any = false;
    str_addf(&key, "%s\x1f", row);
    for (size_t c = 0; c < f->s.columns.n; c++) {
        if (!foreign_is_setting(f, c)) continue;
        const char *cell = sheet_cell(&f->s, record, c);
        any = any || cell;
        str_addf(&key, "%s\x1f", cell ? cell : "");
    }
    if (!any) str_clear(&key), str_addf(&key, "%s\x1f", row); /* a record without settings */
    size_t before = f->configs.n, at = names_put(&f->configs, &f->mem, key.s);
    if (at == before) {
        static const size_t step = 64;
        if (before % step == 0) {
            f->config_record = xrealloc(f->config_record, (before + step) * sizeof *f->config_record);
            f->config_row = xrealloc(f->config_row, (before + step) * sizeof *f->config_row);
        }
        f->config_record[at] = record;
    }
    str_free(&key);
    return at;
}

/* ---- observations ---- */

static void add(foreign *f, observation x, size_t *cap)
{
    f->seen = grow(f->seen, cap, f->n_seen + 1, sizeof *f->seen);
    f->seen[f->n_seen++] = x;
}

static int read_record(foreign *f, size_t i, str *row, size_t *cap, err *e)
{
    const roles *r = &f->r;
    observation x = {.record = i, .step = -1, .example = SIZE_MAX};
    if (row_name(f, i, row, e) || read_whole(f, i, r->seed, UINT32_MAX, &x.seed, e) ||
        read_whole(f, i, r->step, 9e15, &x.step, e))
        return -1;
    x.row = names_put(&f->rows, &f->mem, row->s);
    x.config = config_of(f, i, row->s);
    f->config_row[x.config] = x.row;
    const char *example = sheet_cell(&f->s, i, r->example);
    if (example) x.example = names_put(&f->examples, &f->mem, example);
    for (size_t c = 0; c < f->s.columns.n; c++) {
        if (r->value == SIZE_MAX ? r->of[c] != ROLE_METRIC : c != r->value) continue;
        const char *metric = r->value == SIZE_MAX ? f->s.columns.at[c] : sheet_cell(&f->s, i, r->metric);
        if (!metric) return bad_cell(f, i, f->s.columns.at[r->metric], NULL, "the name of a metric", e);
        int found = read_value(f, i, metric, sheet_cell(&f->s, i, c), &x.value, e);
        if (found < 0) return -1;
        if (!found) continue;
        x.metric = names_put(&f->metrics, &f->mem, metric);
        add(f, x, cap);
    }
    return 0;
}

/* Records without settings belong to their row's only configuration, if it has one. */
static void settle_configs(foreign *f)
{
    size_t *only = xcalloc(f->rows.n + 1, sizeof *only), *of = xcalloc(f->rows.n + 1, sizeof *of);
    for (size_t c = 0; c < f->configs.n; c++) {
        bool empty = same(strchr(f->configs.at[c], '\x1f'), "\x1f");
        if (!empty) only[f->config_row[c]] = c, of[f->config_row[c]]++;
    }
    for (size_t i = 0; i < f->n_seen; i++) {
        observation *x = &f->seen[i];
        if (of[x->row] == 1) x->config = only[x->row];
    }
    free(only);
    free(of);
}

/* Without a column of seeds, splits names as "heads8-seed3" into row "heads8" and seed 3 if all rows' names have a
 * seed. */
static void take_seeds_from_names(foreign *f)
{
    size_t n;
    int64_t seed;
    if (f->r.seed != SIZE_MAX || !f->rows.n) return;
    for (size_t i = 0; i < f->rows.n; i++)
        if (!seed_in_name(f->rows.at[i], &n, &seed) || !n) return;
    names rows = {0};
    for (size_t i = 0; i < f->n_seen; i++) {
        observation *x = &f->seen[i];
        seed_in_name(f->rows.at[x->row], &n, &x->seed);
        x->row = names_put(&rows, &f->mem, arena_strndup(&f->mem, f->rows.at[x->row], n));
    }
    /* a row's runs with equal settings share one configuration */
    names configs = {0};
    size_t *record = xcalloc(f->configs.n + 1, sizeof *record), *row = xcalloc(f->configs.n + 1, sizeof *row);
    for (size_t i = 0; i < f->n_seen; i++) {
        observation *x = &f->seen[i];
        const char *settings = strchr(f->configs.at[x->config], '\x1f');
        size_t old = x->config,
               at = names_put(&configs, &f->mem, arena_printf(&f->mem, "%s%s", rows.at[x->row], settings));
        record[at] = f->config_record[old], row[at] = x->row, x->config = at;
    }
    free(f->config_record), free(f->config_row);
    f->config_record = record, f->config_row = row;
    names_free(&f->configs), names_free(&f->rows);
    f->configs = configs, f->rows = rows, f->seeds_from_names = true;
}

static int order(size_t a, size_t b) { return a < b ? -1 : a > b; }
static int compare(const void *pa, const void *pb)
{
    const observation *a = pa, *b = pb;
    int c = order(a->row, b->row);
    if (!c) c = order(a->config, b->config);
    if (!c) c = a->seed < b->seed ? -1 : a->seed > b->seed;
    if (!c) c = order(a->metric, b->metric);
    if (!c) c = order(a->example != SIZE_MAX, b->example != SIZE_MAX);
    if (!c && a->example != SIZE_MAX) c = order(a->example, b->example);
    if (!c) c = a->step < b->step ? -1 : a->step > b->step;
    return c ? c : order(a->record, b->record);
}

static bool one_run(const observation *a, const observation *b)
{
    return a->row == b->row && a->config == b->config && a->seed == b->seed && a->metric == b->metric;
}

static void sort(foreign *f)
{
    if (f->n_seen) qsort(f->seen, f->n_seen, sizeof *f->seen, compare);
}

static bool is_plain(const observation *x) { return x->step < 0 && x->example == SIZE_MAX; }

/* Numbers the records with plain results from 1 within their row, settings and file: [records]; the caller frees. */
static int64_t *ranks_of_records(const foreign *f)
{
    int64_t *rank = xcalloc(f->s.n + 1, sizeof *rank), *count = NULL;
    size_t *of = xcalloc(f->s.n + 1, sizeof *of), cap = 0; /* 1 + an observation of the record */
    arena a = {0};
    names places = {0};
    for (size_t i = 0; i < f->n_seen; i++)
        if (is_plain(&f->seen[i])) of[f->seen[i].record] = i + 1;
    for (size_t i = 0; i < f->s.n; i++) {
        if (!of[i]) continue;
        const observation *x = &f->seen[of[i] - 1];
        size_t before = places.n,
               at = names_put(&places, &a,
                              arena_printf(&a, "%zu\x1f%zu\x1f%s", x->row, x->config, f->s.records[i].file));
        count = grow(count, &cap, places.n, sizeof *count);
        if (at == before) count[at] = 0;
        rank[i] = ++count[at];
    }
    names_free(&places);
    arena_free(&a);
    free(count);
    free(of);
    return rank;
}

/* Is it another result of the previous one's row, configuration and metric? */
static bool is_again(const foreign *f, size_t i)
{
    const observation *x = &f->seen[i], *before = i ? x - 1 : NULL;
    return before && is_plain(x) && is_plain(before) && before->row == x->row && before->config == x->config &&
           before->metric == x->metric;
}

/* Numbers seeds if there are none. If each record holds all metrics of a run, the k-th record of a row is its seed k,
 * so that an empty cell moves no value into another run; else the k-th result of each metric is. Points of curves and
 * examples cannot be separated by this. */
static void number_seeds(foreign *f)
{
    if (f->r.seed != SIZE_MAX || f->seeds_from_names) return;
    int64_t k = 0, *rank = ranks_of_records(f);
    bool by_record = f->r.value == SIZE_MAX, single = true;
    for (size_t i = 0; i < f->n_seen; i++) {
        single = single && !is_again(f, i);
        if (is_again(f, i) && rank[f->seen[i].record] <= rank[f->seen[i - 1].record]) by_record = false;
    }
    for (size_t i = 0; i < f->n_seen && !single; i++) {
        k = is_again(f, i) ? k + 1 : 1;
        f->seen[i].seed = by_record && is_plain(&f->seen[i]) ? rank[f->seen[i].record] : k;
    }
    f->seeds_numbered = !single;
    free(rank);
    sort(f);
}

static int check_twice(const foreign *f, err *e)
{
    for (size_t i = 1; i < f->n_seen; i++) {
        const observation *a = &f->seen[i - 1], *b = &f->seen[i];
        if (!one_run(a, b) || a->step != b->step || a->example != b->example) continue;
        const sheet_record *x = &f->s.records[a->record], *y = &f->s.records[b->record];
        return fail(e,
                    "%s:%zu and %s:%zu: found %s of row %s, seed %lld twice; name the column that distinguishes them "
                    "with --seed, --step, --row, --example or --setting",
                    x->file, x->line, y->file, y->line, f->metrics.at[a->metric], f->rows.at[a->row],
                    (long long)a->seed);
    }
    return 0;
}

/* ---- results ---- */

static outcome outcome_of(const foreign *f, const observation *x, size_t n, bool best)
{
    outcome o = {.row = x->row,
                 .config = x->config,
                 .metric = x->metric,
                 .seed = x->seed,
                 .step = -1,
                 .value = NAN,
                 .last = NAN,
                 .best = NAN,
                 .scale = 1};
    const char *direction = f->direction[x->metric];
    double sum = 0;
    size_t plain = 0;
    while (plain < n && x[plain].example == SIZE_MAX && x[plain].step < 0) plain++; /* they precede points */
    while (plain + o.n_points < n && x[plain + o.n_points].example == SIZE_MAX) o.n_points++;
    o.points = x + plain, o.examples = o.points + o.n_points, o.n_examples = n - plain - o.n_points;
    for (size_t i = 0; i < o.n_points; i++) {
        double v = o.points[i].value;
        bool better = same(direction, "min") ? v < o.best : v > o.best;
        if (isfinite(v) && (isnan(o.best) || (direction && better))) o.best = v, o.step = o.points[i].step;
    }
    if (o.n_points) {
        o.last = o.points[o.n_points - 1].value;
        if (best && direction && isfinite(o.last)) /* a diverged run stays diverged */
            o.value = o.best;
        else
            o.value = o.last, o.step = o.points[o.n_points - 1].step;
    }
    if (plain) o.value = x[plain - 1].value, o.step = -1;
    for (size_t i = 0; i < o.n_examples; i++) sum += o.examples[i].value;
    double mean = o.n_examples ? sum / (double)o.n_examples : NAN;
    if (o.n_examples && !plain && !o.n_points) o.value = mean;
    for (double scale = 1; scale <= 100 && o.n_examples >= LEAST_EXAMPLES && isfinite(mean); scale *= 100)
        if (fabs(o.value - scale * mean) <= 0.005 * fabs(o.value) + 1e-9 && !o.has_stats)
            o.has_stats = true, o.scale = scale;
    return o;
}

static int make_outcomes(foreign *f, const foreign_options *o, err *e)
{
    for (size_t i = 0, n; i < f->n_seen; i += n) {
        for (n = 1; i + n < f->n_seen && one_run(&f->seen[i], &f->seen[i + n]);) n++;
        f->outcomes = grow(f->outcomes, &f->cap_outcomes, f->n_outcomes + 1, sizeof *f->outcomes);
        f->outcomes[f->n_outcomes++] = outcome_of(f, &f->seen[i], n, o->best);
        if (f->n_outcomes > MOST_RESULTS) return fail(e, "found more than %d results of runs", MOST_RESULTS);
    }
    return f->n_outcomes ? 0 : fail(e, "found no values of a metric; name its column with --metric");
}

double foreign_mean(const foreign *f, size_t row, size_t config, size_t metric, enum evaluation which)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < f->n_outcomes; i++) {
        const outcome *o = &f->outcomes[i];
        double v = which == RESULT ? o->value : which == LAST ? o->last : o->best;
        if (o->row == row && o->config == config && o->metric == metric && isfinite(v)) sum += v, n++;
    }
    return n ? sum / n : NAN;
}

/* Drops a metric's statistics unless all its runs have equal examples: rows are compared example by example. */
static void check_examples(foreign *f)
{
    for (size_t m = 0; m < f->metrics.n; m++) {
        const outcome *first = NULL;
        const char *why = NULL;
        bool any = false;
        for (size_t i = 0; i < f->n_outcomes && !why; i++) {
            const outcome *o = &f->outcomes[i];
            if (o->metric != m || f->chosen[o->row] != o->config) continue;
            any = any || o->n_examples;
            if (!any) continue;
            if (!o->n_examples) continue; /* a run without examples is compared by seeds only */
            if (!o->has_stats) why = "the result of a run is not the mean of its examples";
            if (!first) first = o;
            if (o->n_examples != first->n_examples) why = "runs have different examples";
            for (size_t k = 0; k < o->n_examples && !why; k++)
                if (o->examples[k].example != first->examples[k].example ||
                    o->examples[k].step != first->examples[k].step)
                    why = "runs have different examples";
        }
        if (any && !why && !strcasecmp(f->metrics.at[m], "PPL")) why = "perplexity is no mean over examples";
        if (!why) continue;
        foreign_warn(f, "%s: scores per example are not used: %s.", f->metrics.at[m], why);
        for (size_t i = 0; i < f->n_outcomes; i++)
            if (f->outcomes[i].metric == m) f->outcomes[i].has_stats = false;
    }
}

/* ---- base, headline, goals ---- */

static bool is_listed(const text_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (same(l->at[i], name)) return true;
    return false;
}

static int known(const names *in, const char *option, const char *name, size_t *out, err *e)
{
    *out = names_find(in, name);
    if (*out != SIZE_MAX) return 0;
    const char *near = nearest(name, in->at, in->n);
    return fail(e, "%s: found no \"%s\"%s%s%s", option, name, near ? "; did you mean \"" : "", near ? near : "",
                near ? "\"?" : "");
}

static int set_goals(foreign *f, const foreign_options *o, err *e)
{
    size_t at;
    f->direction = arena_alloc(&f->mem, (f->metrics.n + 1) * sizeof *f->direction);
    for (size_t i = 0; i < o->lower.n; i++)
        if (known(&f->metrics, "--lower-is-better", o->lower.at[i], &at, e)) return -1;
    for (size_t i = 0; i < o->higher.n; i++)
        if (known(&f->metrics, "--higher-is-better", o->higher.at[i], &at, e)) return -1;
    for (size_t m = 0; m < f->metrics.n; m++) {
        const char *name = f->metrics.at[m];
        f->direction[m] = is_listed(&o->lower, name)    ? "min"
                          : is_listed(&o->higher, name) ? "max"
                                                        : direction_of_name(name);
    }
    return 0;
}

static int set_base(foreign *f, const foreign_options *o, err *e)
{
    static const char *const wanted[] = {"base", "baseline", "control", "default", "reference", "vanilla"};
    if (o->base) return f->base_given = true, known(&f->rows, "--base", o->base, &f->base, e);
    for (size_t i = 0; i < LENGTH(wanted); i++)
        for (size_t r = 0; r < f->rows.n; r++)
            if (!strcasecmp(f->rows.at[r], wanted[i])) return f->base = r, 0;
    f->base = 0;
    return 0;
}

/* Chooses the headline: a test metric first, a training metric last; then one where higher is better, then one with a
 * known direction, then one that is not each run's best evaluation. */
static int set_headline(foreign *f, const foreign_options *o, err *e)
{
    if (o->headline) return f->headline_given = true, known(&f->metrics, "--headline", o->headline, &f->headline, e);
    int most = -2;
    f->headline_given = f->metrics.n == 1;
    for (size_t m = 0; m < f->metrics.n; m++) {
        const char *name = f->metrics.at[m];
        int points = (strstr(name, "test")    ? 16
                      : strstr(name, "train") ? 0
                                              : 8) +
                     (same(f->direction[m], "max") ? 4 : 0) + (f->direction[m] ? 2 : 0) - names_best(name);
        if (points > most) most = points, f->headline = m;
    }
    return 0;
}

/* Chooses each row's best configuration by the headline metric; the others are trials. */
static void choose_configs(foreign *f)
{
    f->chosen = arena_alloc(&f->mem, (f->rows.n + 1) * sizeof *f->chosen);
    double *best = xcalloc(f->rows.n + 1, sizeof *best);
    for (size_t r = 0; r < f->rows.n; r++) f->chosen[r] = SIZE_MAX;
    for (size_t c = 0; c < f->configs.n; c++) {
        size_t r = f->config_row[c];
        double mean = foreign_mean(f, r, c, f->headline, RESULT);
        bool better = same(f->direction[f->headline], "min") ? mean < best[r] : mean > best[r];
        bool used = false;
        for (size_t i = 0; i < f->n_outcomes && !used; i++) used = f->outcomes[i].config == c;
        if (used && (f->chosen[r] == SIZE_MAX || isnan(best[r]) || better)) f->chosen[r] = c, best[r] = mean;
    }
    free(best);
}

int foreign_read(const char *const *paths, size_t n, const foreign_options *o, foreign *f, err *e)
{
    *f = (foreign){0};
    for (size_t i = 0; i < n; i++)
        if (sheet_read(&f->s, paths[i], e)) return -1;
    sheet_unify_numbers(&f->s);
    if (roles_guess(&f->s, o, &f->r, &f->mem, e)) return -1;
    size_t cap = 0;
    str row = {0};
    int bad = 0;
    for (size_t i = 0; i < f->s.n && !bad; i++) {
        bad = read_record(f, i, &row, &cap, e);
        if (!bad && f->configs.n > MOST_CONFIGS)
            bad = fail(e,
                       "found more than %d rows and settings; name the rows' column with --row, and columns that are "
                       "no settings with --ignore",
                       MOST_CONFIGS);
    }
    str_free(&row);
    if (bad || set_goals(f, o, e)) return -1;
    take_seeds_from_names(f);
    settle_configs(f);
    sort(f);
    number_seeds(f);
    if (check_twice(f, e) || make_outcomes(f, o, e) || set_base(f, o, e) || set_headline(f, o, e)) return -1;
    choose_configs(f);
    check_examples(f);
    foreign_referee(f, o);
    return 0;
}

void foreign_free(foreign *f)
{
    names_free(&f->rows), names_free(&f->metrics), names_free(&f->configs), names_free(&f->examples);
    free(f->seen), free(f->outcomes), free(f->config_row), free(f->config_record), free(f->warnings);
    arena_free(&f->mem);
    sheet_free(&f->s);
    *f = (foreign){0};
}
