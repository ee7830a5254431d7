/* runs.c - makes runs of records: a result per metric, curves, and scores per example. */
#include "lab/foreign/foreign.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LEAST_EXAMPLES = 2, MOST_RESULTS = 800000, MOST_ROWS = 10000 };

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

const char *foreign_setting(const foreign *f, size_t row, size_t column)
{
    return sheet_cell(&f->s, f->first[row], column);
}

/* ---- cells ---- */

static int bad_cell(const foreign *f, size_t record, const char *what, const char *found, const char *expected, err *e)
{
    const sheet_record *r = &f->s.records[record];
    return fail(e, "%s:%zu: %s: found %s%.60s%s, expected %s", r->file, r->line, what, found ? "\"" : "",
                found ? found : "nothing", found ? "\"" : "", expected);
}

static bool is_one_of(const char *cell, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcasecmp(cell, words[i])) return true;
    return false;
}

/* Reads a value; NaN if it is not finite or missing. Percent signs, commas and units are refused: they change what a
 * number means. */
static int read_value(const foreign *f, size_t record, const char *metric, const char *cell, observation *x, err *e)
{
    static const char *const missing[] = {"null",   "none",   "n/a",     "na",      "-",       "--",
                                          "\u2013", "\u2014", "?",       ".",       "#div/0!", "#n/a",
                                          "#num!",  "#ref!",  "#value!", "missing", "<na>",    "nil"};
    static const char *const not_finite[] = {"nan", "inf", "-inf", "+inf", "infinity", "-infinity"};
    x->value = NAN;
    x->missing = !cell || is_one_of(cell, missing, LENGTH(missing));
    if (x->missing || parse_real(cell, &x->value) || is_one_of(cell, not_finite, LENGTH(not_finite))) return 0;
    return bad_cell(f, record, metric, cell, "a plain number such as 1234 or 0.5, without units, % or commas", e);
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

/* Cuts "wide-seed3" to "wide" and sets the seed to 3; other names stay unchanged. */
static void split_seed(str *name, int64_t *seed)
{
    size_t digits = name->n, n = strlen("-seed");
    while (digits && isdigit((unsigned char)name->s[digits - 1])) digits--;
    if (digits == name->n || name->n - digits > 9 || digits <= n || strncmp(name->s + digits - n, "-seed", n)) return;
    parse_int(name->s + digits, seed);
    name->s[name->n = digits - n] = 0;
}

static int read_identity(const foreign *f, size_t record, str *out, int64_t *seed, err *e)
{
    const shape *c = &f->columns;
    str_clear(out);
    for (size_t i = 0; i < c->n_row; i++) {
        const char *cell = sheet_cell(&f->s, record, c->row[i]), *column = f->s.columns.at[c->row[i]];
        if (!cell) return bad_cell(f, record, column, NULL, "the name of a row", e);
        if (c->n_row > 1) str_addf(out, "%s%s=", i ? " " : "", column);
        str_add(out, cell);
    }
    if (c->seed == SIZE_MAX) split_seed(out, seed);
    return 0;
}

/* Refuses a row with two values of a setting: whoever chooses the value by its score makes all tests invalid. */
static int check_settings(const foreign *f, size_t row, size_t record, err *e)
{
    for (size_t i = 0; i < f->columns.n_settings; i++) {
        size_t c = f->columns.setting[i];
        const char *own = sheet_cell(&f->s, record, c), *first = sheet_cell(&f->s, f->first[row], c);
        const sheet_record *r = &f->s.records[f->first[row]];
        if (!own || same(own, first)) continue;
        AUTOFREE char *expected = xprintf(
            "%s%s%s as in %s:%zu: a row has one value of a setting; `--row %s` makes a row of each value",
            first ? "\"" : "", first ? first : "nothing", first ? "\"" : "", r->file, r->line, f->s.columns.at[c]);
        return bad_cell(f, record, f->s.columns.at[c], own, expected, e);
    }
    return 0;
}

/* ---- observations ---- */

static bool has_failed(const foreign *f, size_t record)
{
    static const char *const ends[] = {"finished", "done", "completed", "complete", "success", "succeeded", "ok"};
    const char *word = sheet_cell(&f->s, record, f->columns.status);
    return word && !is_one_of(word, ends, LENGTH(ends));
}

static bool is_wanted(const foreign_options *o, const char *metric)
{
    for (size_t i = 0; i < o->metrics.n; i++)
        if (same(o->metrics.at[i], metric)) return true;
    return !o->metrics.n;
}

/* Adds a value, or that the run exists (metric NULL, empty cell): without any value it counts as one that failed. */
static int add_observed(foreign *f, observation x, const char *metric, const char *cell, size_t *cap, err *e)
{
    x.missing = !metric;
    if (metric && read_value(f, x.record, metric, cell, &x, e)) return -1;
    if (x.failed || x.missing) x.step = -1, x.example = SIZE_MAX, x.value = NAN, x.missing = true;
    x.metric = metric ? names_add(&f->metrics, &f->mem, metric) : SIZE_MAX;
    f->seen = grow(f->seen, cap, f->n_seen + 1, sizeof *f->seen);
    f->seen[f->n_seen++] = x;
    return 0;
}

static int read_record(foreign *f, const foreign_options *o, size_t i, str *row, size_t *cap, err *e)
{
    const shape *c = &f->columns;
    observation x = {.record = i, .step = -1, .example = SIZE_MAX, .failed = has_failed(f, i)};
    if (read_identity(f, i, row, &x.seed, e) || read_whole(f, i, c->seed, UINT32_MAX, &x.seed, e) ||
        read_whole(f, i, c->step, 9e15, &x.step, e))
        return -1;
    size_t before = f->rows.n;
    x.row = names_add(&f->rows, &f->mem, row->s);
    if (x.row == before) f->first = grow(f->first, &f->cap_first, before + 1, sizeof *f->first), f->first[before] = i;
    if (check_settings(f, x.row, i, e)) return -1;
    const char *example = sheet_cell(&f->s, i, c->example);
    if (example) x.example = names_add(&f->examples, &f->mem, example);
    for (size_t k = 0; k < c->n_wide; k++)
        if (add_observed(f, x, f->s.columns.at[c->wide[k]], sheet_cell(&f->s, i, c->wide[k]), cap, e)) return -1;
    if (c->value == SIZE_MAX) return 0;
    const char *metric = sheet_cell(&f->s, i, c->metric);
    if (!metric) return bad_cell(f, i, SHEET_METRIC, NULL, "the name of a metric", e);
    if (is_wanted(o, metric) && add_observed(f, x, metric, sheet_cell(&f->s, i, c->value), cap, e)) return -1;
    return o->metrics.n && !same(metric, o->metrics.at[0]) ? add_observed(f, x, NULL, NULL, cap, e) : 0;
}

static int order(size_t a, size_t b) { return a < b ? -1 : a > b; }
static int compare(const void *pa, const void *pb)
{
    const observation *a = pa, *b = pb;
    int c = order(a->row, b->row);
    if (!c) c = a->seed < b->seed ? -1 : a->seed > b->seed;
    if (!c) c = order(a->metric, b->metric);
    if (!c) c = order(a->example != SIZE_MAX, b->example != SIZE_MAX);
    if (!c) c = a->step < b->step ? -1 : a->step > b->step;
    if (!c && a->example != SIZE_MAX) c = order(a->example, b->example);
    if (!c) c = order(!a->missing, !b->missing); /* missing values first: a value in another record counts */
    return c ? c : order(a->record, b->record);
}

static bool one_run(const observation *a, const observation *b)
{
    return a->row == b->row && a->seed == b->seed && a->metric == b->metric;
}

/* Drops points of a resumed run's earlier event files from the first step of a later file on, as TensorBoard does. */
static void drop_resumed(foreign *f)
{
    size_t n = 0, latest = 0;
    for (size_t i = 0; i < f->n_seen; i++) {
        const observation *x = &f->seen[i];
        size_t file = names_find(&f->s.files, f->s.records[x->record].file);
        if (!n || !one_run(&f->seen[n - 1], x)) latest = 0;
        while (x->step >= 0 && n && one_run(&f->seen[n - 1], x) && f->seen[n - 1].step == x->step && file > latest) n--;
        if (x->step >= 0 && file < latest) continue;
        latest = file, f->seen[n++] = *x;
    }
    f->n_seen = n;
}

static int check_twice(const foreign *f, err *e)
{
    for (size_t i = 1; i < f->n_seen; i++) {
        const observation *a = &f->seen[i - 1], *b = &f->seen[i];
        if (!one_run(a, b) || a->step != b->step || a->example != b->example || a->missing) continue;
        const sheet_record *x = &f->s.records[a->record], *y = &f->s.records[b->record];
        return fail(e,
                    "%s:%zu and %s:%zu: found %s of row %s, seed %lld twice; name the column that distinguishes them "
                    "with --seed, --step, --row or --example",
                    x->file, x->line, y->file, y->line, f->metrics.at[a->metric], f->rows.at[a->row],
                    (long long)a->seed);
    }
    return 0;
}

/* ---- results ---- */

static outcome outcome_of(const foreign *f, const observation *x, size_t n, bool best)
{
    outcome o = {.row = x->row,
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
    for (size_t i = 0; i < n; i++) o.failed = o.failed || x[i].failed;
    while (plain < n && x[plain].example == SIZE_MAX && x[plain].step < 0) plain++; /* no step: sorted first */
    while (plain + o.n_points < n && x[plain + o.n_points].example == SIZE_MAX) o.n_points++;
    o.points = x + plain, o.examples = o.points + o.n_points, o.n_examples = n - plain - o.n_points;
    while (o.n_examples && o.examples->step < x[n - 1].step)
        o.examples++, o.n_examples--; /* the last evaluation counts */
    for (size_t i = 0; i < o.n_points; i++) {
        double v = o.points[i].value;
        bool better = same(direction, "min") ? v < o.best : v > o.best;
        if (isfinite(v) && (isnan(o.best) || (direction && better))) o.best = v, o.step = o.points[i].step;
    }
    if (o.n_points) {
        o.last = o.points[o.n_points - 1].value;
        if (best && direction && isfinite(o.last)) /* a run that diverged at the end has no best */
            o.value = o.best;
        else
            o.value = o.last, o.step = o.points[o.n_points - 1].step;
    }
    bool has_plain = plain && !x[plain - 1].missing;
    if (has_plain) o.value = x[plain - 1].value, o.step = -1;
    for (size_t i = 0; i < o.n_examples; i++) sum += o.examples[i].value;
    double mean = o.n_examples ? sum / (double)o.n_examples : NAN;
    if (o.n_examples && !has_plain && !o.n_points) o.value = mean;
    for (double scale = 1; scale <= 100 && o.n_examples >= LEAST_EXAMPLES && isfinite(mean); scale *= 100)
        if (fabs(o.value - scale * mean) <= 0.005 * fabs(o.value) + 1e-9 && !o.has_stats)
            o.has_stats = true, o.scale = scale;
    if (o.failed) o.value = o.last = o.best = NAN;
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
    return 0;
}

double foreign_mean(const foreign *f, size_t row, enum evaluation which)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < f->n_outcomes; i++) {
        const outcome *o = &f->outcomes[i];
        double v = which == LAST ? o->last : o->best;
        if (o->row == row && o->metric == f->headline && isfinite(v)) sum += v, n++;
    }
    return n ? sum / n : NAN;
}

/* Drops a metric's statistics unless all its runs have equal examples: rows are compared example by example. */
static void check_examples(foreign *f)
{
    for (size_t m = 0; m < f->metrics.n; m++) {
        const outcome *first = NULL;
        const char *why = NULL;
        for (size_t i = 0; i < f->n_outcomes && !why; i++) {
            const outcome *o = &f->outcomes[i];
            if (o->metric != m || !o->n_examples) continue; /* a run without examples is compared by seeds only */
            if (!o->has_stats) why = "the result of a run is not the mean of its examples";
            if (!first) first = o;
            if (o->n_examples != first->n_examples) why = "runs have different examples";
            for (size_t k = 0; k < o->n_examples && !why; k++)
                if (o->examples[k].example != first->examples[k].example) why = "runs have different examples";
        }
        if (first && !why && !strcasecmp(f->metrics.at[m], "PPL")) why = "perplexity is no mean over examples";
        if (!why) continue;
        foreign_warn(f, "%s: scores per example are not used: %s.", f->metrics.at[m], why);
        for (size_t i = 0; i < f->n_outcomes; i++)
            if (f->outcomes[i].metric == m) f->outcomes[i].has_stats = false;
    }
}

/* ---- base, judged metric, directions ---- */

static int known(const names *in, const char *option, const char *name, size_t *out, err *e)
{
    *out = names_find(in, name);
    if (*out != SIZE_MAX) return 0;
    return fail(e, "%s: found no \"%s\"%s", option, name, suggestion(name, in->at, in->n, "\""));
}

static int set_directions(foreign *f, const char *option, const text_list *given, const char *direction, err *e)
{
    for (size_t i = 0, m; i < given->n; i++) {
        if (known(&f->metrics, option, given->at[i], &m, e)) return -1;
        f->direction[m] = direction;
    }
    return 0;
}

static int set_judged(foreign *f, const foreign_options *o, err *e)
{
    CLEANUP(str_free) str list = {0};
    for (size_t i = 0; i < f->metrics.n && i < 40; i++) str_addf(&list, "%s%s", i ? ", " : "", f->metrics.at[i]);
    int bad = 0;
    if (!f->n_seen) bad = fail(e, "found no values of a metric");
    if (!bad && f->metrics.n > 1 && !o->metrics.n)
        bad = fail(e, "found %zu metrics; give --metric NAME for each to import, first for the one to judge: %s",
                   f->metrics.n, str_text(&list));
    f->direction = arena_alloc(&f->mem, (f->metrics.n + 1) * sizeof *f->direction);
    for (size_t i = o->metrics.n; i-- > 0 && !bad;)
        bad = known(&f->metrics, "--metric", o->metrics.at[i], &f->headline, e);
    if (!bad && o->base) bad = known(&f->rows, "--base", o->base, &f->base, e);
    return bad || set_directions(f, "--lower-is-better", &o->lower, "min", e) ||
           set_directions(f, "--higher-is-better", &o->higher, "max", e);
}

int foreign_read(const char *const *paths, size_t n, const foreign_options *o, foreign *f, err *e)
{
    *f = (foreign){0};
    for (size_t i = 0; i < n; i++)
        if (sheet_read(&f->s, paths[i], e)) return -1;
    sheet_unify_numbers(&f->s);
    if (shape_find(&f->s, o, &f->columns, &f->mem, e)) return -1;
    if (o->best && f->columns.example != SIZE_MAX && f->columns.step != SIZE_MAX)
        return fail(e, "--result best: found scores per example at several steps, of which the last count");
    size_t cap = 0;
    CLEANUP(str_free) str row = {0};
    int bad = 0;
    for (size_t i = 0; i < f->s.n && !bad; i++) {
        bad = read_record(f, o, i, &row, &cap, e);
        if (!bad && f->rows.n > MOST_ROWS)
            bad = fail(e, "found more than %d rows; name the rows' column with --row", MOST_ROWS);
    }
    if (bad || set_judged(f, o, e)) return -1;
    for (size_t i = 0; i < f->n_seen; i++)
        if (f->seen[i].metric == SIZE_MAX) f->seen[i].metric = f->headline;
    qsort(f->seen, f->n_seen, sizeof *f->seen, compare);
    if (same(f->s.format, SHEET_EVENTS)) drop_resumed(f);
    if (check_twice(f, e) || make_outcomes(f, o, e)) return -1;
    check_examples(f);
    foreign_referee(f, o);
    return 0;
}

void foreign_free(foreign *f)
{
    names_free(&f->rows), names_free(&f->metrics), names_free(&f->examples);
    free(f->seen), free(f->outcomes), free(f->first), free(f->warnings);
    arena_free(&f->mem);
    sheet_free(&f->s);
    *f = (foreign){0};
}
