/* roles.c - decides which column is row, seed, step, metric, example or setting: by the options, else by name and
 * content. */
#include "lab/foreign/foreign.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct {
    size_t filled, numbers, wholes, distinct;
} facts;

static bool is_number(const char *cell)
{
    static const char *const not_finite[] = {"nan", "inf", "-inf", "+inf", "infinity", "-infinity"};
    double x;
    if (parse_real(cell, &x)) return true;
    for (size_t i = 0; i < LENGTH(not_finite); i++)
        if (!strcasecmp(cell, not_finite[i])) return true;
    return false;
}

static facts facts_of(const sheet *s, size_t column)
{
    facts x = {0};
    arena a = {0};
    names seen = {0};
    for (size_t i = 0; i < s->n; i++) {
        const char *cell = sheet_cell(s, i, column);
        double v;
        if (!cell) continue;
        x.filled++, x.numbers += is_number(cell);
        x.wholes += parse_real(cell, &v) && v == floor(v) && v >= 0 && v <= 9e15;
        if (seen.n < 100000) names_put(&seen, &a, cell);
    }
    x.distinct = seen.n;
    names_free(&seen);
    arena_free(&a);
    return x;
}

/* Returns the last part of "config.seed" or "trainer/global_step". */
static const char *last_part(const char *name)
{
    const char *part = name;
    for (const char *p = name; *p; p++)
        if (strchr("./", *p) && p[1]) part = p + 1;
    return part;
}

/* Finds the first free column with one of these names; whole: with whole numbers only, text: with some words. */
static size_t by_name(const sheet *s, const roles *r, const facts *f, const char *const *wanted, bool whole, bool text)
{
    for (; *wanted; wanted++)
        for (size_t c = 0; c < s->columns.n; c++) {
            bool fits = f[c].filled && (!whole || f[c].wholes == f[c].filled) && (!text || f[c].numbers < f[c].filled);
            if (fits && r->of[c] == ROLE_IGNORED && !r->given[c] && !strcasecmp(last_part(s->columns.at[c]), *wanted))
                return c;
        }
    return SIZE_MAX;
}

static int find(const sheet *s, const char *option, const char *name, size_t *out, err *e)
{
    *out = names_find(&s->columns, name);
    if (*out != SIZE_MAX) return 0;
    str list = {0};
    const char *near = nearest(name, s->columns.at, s->columns.n);
    for (size_t i = 0; i < s->columns.n && i < 40; i++) str_addf(&list, "%s%s", i ? ", " : "", s->columns.at[i]);
    fail(e, "%s: found no column \"%s\"%s%s%s; there are: %s", option, name, near ? "; did you mean \"" : "",
         near ? near : "", near ? "\"?" : "", str_text(&list));
    str_free(&list);
    return -1;
}

static int give(const sheet *s, roles *r, const char *option, const char *name, enum role role, size_t *where, err *e)
{
    size_t c;
    if (!name) return 0;
    if (find(s, option, name, &c, e)) return -1;
    if (r->given[c] && r->of[c] != role) return fail(e, "%s: the column \"%s\" already has another role", option, name);
    r->of[c] = role, r->given[c] = true;
    if (where) *where = c;
    return 0;
}

static int give_options(const sheet *s, const foreign_options *o, const facts *f, roles *r, err *e)
{
    if (give(s, r, "--seed", o->seed, ROLE_SEED, &r->seed, e) ||
        give(s, r, "--step", o->step, ROLE_STEP, &r->step, e) ||
        give(s, r, "--value", o->value, ROLE_VALUE, &r->value, e) ||
        give(s, r, "--example", o->example, ROLE_EXAMPLE, &r->example, e))
        return -1;
    for (size_t i = 0; i < o->row.n; i++)
        if (give(s, r, "--row", o->row.at[i], ROLE_ROW, &r->row[r->n_row++], e)) return -1;
    for (size_t i = 0; i < o->metrics.n; i++) {
        size_t c;
        if (find(s, "--metric", o->metrics.at[i], &c, e)) return -1;
        bool of_names = f[c].numbers < f[c].filled; /* words are metric names of a long table */
        if (of_names && o->metrics.n > 1)
            return fail(e,
                        "--metric: found words in the column \"%s\", expected no other --metric, or columns of numbers",
                        o->metrics.at[i]);
        if (give(s, r, "--metric", o->metrics.at[i], of_names ? ROLE_NAME : ROLE_METRIC, of_names ? &r->metric : NULL,
                 e))
            return -1;
    }
    for (size_t i = 0; i < o->settings.n; i++)
        if (give(s, r, "--setting", o->settings.at[i], ROLE_SETTING, NULL, e)) return -1;
    for (size_t i = 0; i < o->ignored.n; i++)
        if (give(s, r, "--ignore", o->ignored.at[i], ROLE_IGNORED, NULL, e)) return -1;
    return 0;
}

static void take(roles *r, size_t *where, size_t column, enum role role)
{
    if (column == SIZE_MAX) return;
    *where = column, r->of[column] = role;
}

static void guess_keys(const sheet *s, const facts *f, roles *r)
{
    static const char *const seeds[] = {"seed",      "random_seed", "rng_seed", "torch_seed", "trial",
                                        "replicate", "rep",         "fold",     NULL};
    static const char *const steps[] = {"step",   "global_step", "_step", "num_updates", "updates",
                                        "update", "iteration",   "iter",  "epoch",       NULL};
    static const char *const examples[] = {"example",     "example_id", "doc_id",      "sample_id", "sample",
                                           "item",        "item_id",    "question_id", "qid",       "instance",
                                           "instance_id", "sentence",   "sentence_id", "idx",       NULL};
    static const char *const metrics[] = {"metric", "metrics", "measure", "tag", "metric_name", "score_name", NULL};
    static const char *const values[] = {"value", "score", "result", "metric_value", NULL};
    if (r->seed == SIZE_MAX) take(r, &r->seed, by_name(s, r, f, seeds, true, false), ROLE_SEED);
    if (r->step == SIZE_MAX) take(r, &r->step, by_name(s, r, f, steps, true, false), ROLE_STEP);
    if (r->example == SIZE_MAX) take(r, &r->example, by_name(s, r, f, examples, false, false), ROLE_EXAMPLE);
    size_t metric = r->metric != SIZE_MAX ? r->metric : by_name(s, r, f, metrics, false, true);
    size_t value = r->value != SIZE_MAX ? r->value : by_name(s, r, f, values, false, false);
    bool wide = false; /* --metric names columns of numbers */
    for (size_t c = 0; c < s->columns.n; c++) wide = wide || (r->of[c] == ROLE_METRIC && r->given[c]);
    if (metric != SIZE_MAX && value != SIZE_MAX && !wide)
        take(r, &r->metric, metric, ROLE_NAME), take(r, &r->value, value, ROLE_VALUE);
}

/* ---- rows ---- */

static void add_cell(str *key, const sheet *s, size_t record, size_t column)
{
    const char *cell = sheet_cell(s, record, column);
    str_addf(key, "%s\x1f", cell ? cell : "");
}

static void add_row(str *key, const sheet *s, const roles *r, size_t record)
{
    for (size_t i = 0; i < r->n_row; i++) add_cell(key, s, record, r->row[i]);
}

/* Does some value of the column occur with two seeds? */
static bool has_seeds(const sheet *s, const roles *r, size_t column)
{
    arena a = {0};
    names alone = {0}, with = {0};
    str key = {0};
    for (size_t i = 0; i < s->n; i++) {
        str_clear(&key);
        add_cell(&key, s, i, column);
        names_put(&alone, &a, key.s);
        add_cell(&key, s, i, r->seed);
        names_put(&with, &a, key.s);
    }
    bool more = with.n > alone.n;
    names_free(&alone);
    names_free(&with);
    str_free(&key);
    arena_free(&a);
    return more;
}

static void guess_row(const sheet *s, const facts *f, roles *r)
{
    static const char *const wanted[] = {
        "row",   "variant",    "condition", "configuration", "config", "method", "arm",      "ablation", "system",
        "model", "model_name", "group",     "experiment",    "exp",    "name",   "run_name", "run",      "run_id"};
    size_t first = SIZE_MAX, best = SIZE_MAX;
    for (size_t i = 0; i < LENGTH(wanted) && best == SIZE_MAX; i++) {
        const char *const one[] = {wanted[i], NULL};
        size_t c = by_name(s, r, f, one, false, false);
        if (c == SIZE_MAX || f[c].filled < s->n) continue;
        if (first == SIZE_MAX) first = c;
        /* a tracker's run names are no rows: each has one seed */
        if (r->seed == SIZE_MAX || f[r->seed].distinct < 2 || has_seeds(s, r, c)) best = c;
    }
    if (best == SIZE_MAX && first != SIZE_MAX && r->seed == SIZE_MAX) best = first;
    if (best != SIZE_MAX) r->row[r->n_row++] = best, r->of[best] = ROLE_ROW;
}

/* ---- settings and metrics ---- */

/* Do records agree in row, seed, step, example and metric? Then another column was varied, so it is a setting. */
static bool has_repeats(const sheet *s, const roles *r)
{
    arena a = {0};
    names seen = {0};
    str key = {0};
    bool repeats = false;
    for (size_t i = 0; i < s->n && !repeats; i++) {
        str_clear(&key);
        add_row(&key, s, r, i);
        add_cell(&key, s, i, r->seed);
        add_cell(&key, s, i, r->step);
        add_cell(&key, s, i, r->example);
        add_cell(&key, s, i, r->metric);
        size_t before = seen.n;
        names_put(&seen, &a, key.s);
        repeats = seen.n == before;
    }
    names_free(&seen);
    str_free(&key);
    arena_free(&a);
    return repeats && r->seed != SIZE_MAX;
}

/* Does a row, a run, or a run at one step have two values in this column? */
enum place { IN_ROW, IN_RUN, AT_STEP };
static bool varies(const sheet *s, const roles *r, size_t column, enum place place)
{
    arena a = {0};
    names rows = {0}, values = {0};
    str key = {0};
    for (size_t i = 0; i < s->n && rows.n == values.n; i++) {
        if (!sheet_cell(s, i, column)) continue;
        str_clear(&key);
        add_row(&key, s, r, i);
        if (place >= IN_RUN) add_cell(&key, s, i, r->seed);
        if (place >= AT_STEP) add_cell(&key, s, i, r->step);
        names_put(&rows, &a, str_text(&key));
        add_cell(&key, s, i, column);
        names_put(&values, &a, key.s);
    }
    bool more = values.n > rows.n;
    names_free(&rows);
    names_free(&values);
    str_free(&key);
    arena_free(&a);
    return more;
}

static enum role guess_one(const sheet *s, const roles *r, const facts *f, size_t c, bool repeats)
{
    const char *name = s->columns.at[c];
    bool number = f[c].numbers == f[c].filled, is_long = r->value != SIZE_MAX;
    bool setting = sounds_like_setting(name), metric = number && !is_long && !setting && sounds_like_metric(name);
    bool label = r->n_row && (!strcasecmp(name, "name") || !strcasecmp(name, "run") || !strcasecmp(name, "run_name"));
    if (!f[c].filled || label || (sounds_like_bookkeeping(name) && !metric) || same(name, SHEET_FILE))
        return ROLE_IGNORED;
    if (metric) return ROLE_METRIC;
    if (!r->n_row) { /* then settings make up the rows */
        bool few = f[c].distinct <= (s->n + 1) / 2;
        return setting || (few && (!number || f[c].wholes == f[c].filled)) ? ROLE_SETTING
               : number && !is_long                                        ? ROLE_METRIC
                                                                           : ROLE_IGNORED;
    }
    if (r->step != SIZE_MAX && varies(s, r, c, IN_RUN)) {
        /* a schedule has one value per step, a setting may have more */
        if (setting && varies(s, r, c, AT_STEP)) return ROLE_SETTING;
        return number && !setting && !is_long ? ROLE_METRIC : ROLE_IGNORED;
    }
    if (!varies(s, r, c, IN_ROW) || setting) return ROLE_SETTING;
    if (repeats) return ROLE_SETTING;
    return number && !is_long ? ROLE_METRIC : ROLE_IGNORED;
}

int roles_guess(const sheet *s, const foreign_options *o, roles *r, arena *a, err *e)
{
    size_t n = s->columns.n;
    *r = (roles){.of = arena_alloc(a, (n + 1) * sizeof *r->of),
                 .given = arena_alloc(a, (n + 1) * sizeof *r->given),
                 .row = arena_alloc(a, (n + o->row.n + 1) * sizeof *r->row),
                 .seed = SIZE_MAX,
                 .step = SIZE_MAX,
                 .metric = SIZE_MAX,
                 .value = SIZE_MAX,
                 .example = SIZE_MAX};
    facts *f = xcalloc(n + 1, sizeof *f);
    for (size_t c = 0; c < n; c++) f[c] = facts_of(s, c);
    int bad = give_options(s, o, f, r, e);
    if (!bad) {
        guess_keys(s, f, r);
        if (!r->n_row) guess_row(s, f, r);
        size_t file = names_find(&s->columns, SHEET_FILE);
        if (!r->n_row && file != SIZE_MAX && f[file].distinct > 1) r->row[r->n_row++] = file, r->of[file] = ROLE_ROW;
        bool repeats = has_repeats(s, r);
        for (size_t c = 0; c < n; c++)
            if (r->of[c] == ROLE_IGNORED && !r->given[c]) r->of[c] = guess_one(s, r, f, c, repeats);
        for (size_t c = 0; c < n && o->metrics.n; c++) /* --metric names all */
            if (r->of[c] == ROLE_METRIC && !r->given[c]) r->of[c] = ROLE_IGNORED;
        bool alone = !r->n_row;
        for (size_t c = 0; c < n && alone; c++)
            if (r->of[c] == ROLE_SETTING && f[c].distinct > 1) r->row[r->n_row++] = c;
    }
    if (!bad && !r->n_row)
        bad = fail(
            e, "found no column that distinguishes rows, such as \"row\" or \"variant\"; name one with --row COLUMN");
    free(f);
    return bad;
}
