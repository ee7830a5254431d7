/* read_analysis.c - reads how an experiment is set up and judged: searches, budgets, stopping rules, criteria,
 * two-level designs, sizes. docs/ini.md describes the syntax, docs/statistics.md the meaning for tables. */
#include "lab/config/build.h"
#include <math.h>
#include <string.h>

/* ---- lr = tune(1e-4 .. 1e-2, 5) ---- */

enum { MOST_CANDIDATES = 64 };

/* Reads "tune(LOW .. HIGH, N)", after N perhaps "seeds K" and "extend". */
static bool split_tune(const char *text, spec_tune *t, arena *a)
{
    enum { MOST_SEEDS = 20 };
    const char **parts;
    size_t n = 0;
    bool good = has_prefix(text, "tune(") && has_suffix(text, ")");
    if (good) n = split_text(arena_strndup(a, text + 5, strlen(text) - 6), ',', &parts, a);
    char *dots = n < 2 ? NULL : strstr((char *)parts[0], "..");
    if (!dots) return false;
    *dots = 0, t->seeds = 1;
    good = parse_real(trim((char *)parts[0]), &t->low) && parse_real(trim(dots + 2), &t->high) &&
           parse_int(parts[1], &t->n);
    for (size_t i = 2; i < n; i++) {
        if (same(parts[i], "extend"))
            t->extend = true;
        else
            good = good && has_prefix(parts[i], "seeds ") &&
                   parse_int(parts[i] + 6 + strspn(parts[i] + 6, " "), &t->seeds) && t->seeds >= 1 &&
                   t->seeds <= MOST_SEEDS;
    }
    return good;
}

const char *tune_canonical(build *b, const value_list *l, const char *text, bool *is_tune)
{
    const ab_option *p = key_param(b, l->keys[0]);
    spec_tune t = {0};
    const char *ends[2];
    char number[2][32], seeds[40] = "";
    err e = {{0}};
    *is_tune = has_prefix(text, "tune(") || same(text, "tune");
    if (!*is_tune) return NULL;
    if (l->m > 1)
        return complain(b, l->where, l->label, "found %s for coupled keys, expected a search over one key", text), NULL;
    if (p->type != AB_REAL && p->type != AB_INT)
        return complain(b, l->where, l->label, "found %s, expected a value: only numeric keys can be searched", text),
               NULL;
    if (!split_tune(text, &t, b->a) || !(t.low < t.high) || t.n < 2 || t.n > MOST_CANDIDATES)
        return complain(b, l->where, l->label,
                        "found \"%s\", expected tune(LOW .. HIGH, N), with LOW below HIGH and N candidates, 2 to %d; "
                        "optional after N: seeds K, with K from 1 to 20, and extend",
                        text, MOST_CANDIDATES),
               NULL;
    const double end[] = {t.low, t.high};
    for (int i = 0; i < 2; i++)
        if (param_canonical(p, format_real(end[i], number[i]), &ends[i], b->a, &e))
            return complain(b, l->where, l->label, "%s", e.text), NULL;
    if (t.seeds > 1) snprintf(seeds, sizeof seeds, ", seeds %lld", (long long)t.seeds);
    return arena_printf(b->a, "tune(%s .. %s, %lld%s%s)", ends[0], ends[1], (long long)t.n, seeds,
                        t.extend ? ", extend" : "");
}

bool tune_read(const build *b, const char *key, const char *text, spec_tune *out)
{
    const ab_option *p = key_param(b, key);
    bool bounded = p && p->min < p->max;
    *out = (spec_tune){.key = key,
                       .whole = p && p->type == AB_INT,
                       .text = text,
                       .least = bounded ? p->min : -INFINITY,
                       .most = bounded ? p->max : INFINITY};
    return split_tune(text, out, b->a);
}

const char *tune_middle(build *b, const spec_tune *t)
{
    char number[32];
    double middle = t->low > 0 ? sqrt(t->low * t->high) : (t->low + t->high) / 2;
    return arena_strdup(b->a, format_real(t->whole ? round(middle) : middle, number));
}

/* ---- seeds = until 0.5 BLEU, at most 20 ---- */

static const int64_t looks[] = {3, 5, 10, 20}; /* as look_seeds in statistics/design.h */

bool read_until(build *b, const char *where, const char *text, bool *bad)
{
    char metric[64], rest[2];
    double effect;
    long long most;
    bool look = false;
    *bad = false;
    if (!has_prefix(text, "until ")) return false;
    int found = sscanf(text, "until %lf %63[^, ], at most %lld%1s", &effect, metric, &most, rest);
    for (size_t i = 0; i < LENGTH(looks) && found == 3; i++) look = look || most == looks[i];
    if (found != 3 || !(effect > 0) || !look) {
        *bad = true;
        return complain(b, where, "seeds",
                        "found \"%s\", expected `until EFFECT METRIC, at most N`, where N is 3, 5, 10 or 20, such as "
                        "`until 0.5 BLEU, at most 20`",
                        text);
    }
    b->s->analysis.until.effect = effect, b->s->analysis.until.most = most;
    b->s->analysis.until.metric = arena_strdup(b->a, metric);
    b->s->seeds = arena_alloc(b->a, (size_t)most * sizeof *b->s->seeds);
    for (int64_t i = 0; i < most; i++) b->s->seeds[i] = i + 1;
    b->s->n_seeds = (size_t)looks[0]; /* the first look; `ablate run` adds the others */
    return true;
}

/* ---- match = flops by d_ff ---- */

void read_match(build *b, const char *where, const char *text)
{
    static const char *const kinds[][2] = {{"params", "d_ff"}, {"flops", "d_ff"}, {"time", "steps"}};
    static const char *const keys[] = {"d_ff", "d_model", "steps", "layers"};
    char kind[16] = "", key[16] = "", rest[2];
    int found = sscanf(text, "%15s by %15s %1s", kind, key, rest);
    bool known = false;
    for (size_t i = 0; i < LENGTH(kinds); i++)
        if (same(kind, kinds[i][0])) {
            b->s->analysis.match = kinds[i][0];
            if (found == 1) snprintf(key, sizeof key, "%s", kinds[i][1]);
        }
    for (size_t i = 0; i < LENGTH(keys); i++)
        if (same(key, keys[i])) known = true, b->s->analysis.match_key = keys[i];
    bool senseless = same(kind, "params") && same(key, "steps");
    if (*b->s->analysis.match && known && found <= 2 && !senseless) return;
    complain(b, where, "match",
             "found \"%s\", expected BUDGET by KEY, where BUDGET is params, flops or time, and KEY is d_ff, d_model, "
             "layers or steps (not with params)",
             text);
}

/* ---- [criterion] ---- */

void read_criterion(build *b, const ini_entry *at, size_t n)
{
    enum { LEAST = 3, USUAL = 5 }; /* two seeds per row decide nothing */
    int64_t trained = b->s->analysis.until.most ? b->s->analysis.until.most : (int64_t)b->s->n_seeds;
    comparison_criterion *k = &b->s->analysis.criterion;
    *k = (comparison_criterion){.metric = "", .level = 0.05, .failed_as = NAN, .given = true};
    const char *margin = NULL; /* the key that set the margin */
    int64_t seeds = trained < LEAST ? LEAST : trained < USUAL ? trained : USUAL;
    for (size_t i = 0; i < n; i++) {
        const char *text = unquote(at[i].value, b->a), *wanted = "the name of a metric";
        bool good = true;
        if (same(at[i].key, "metric"))
            k->metric = text, good = *text;
        else if (same(at[i].key, "margin") || same(at[i].key, "not_worse_by")) {
            if (margin && !same(margin, at[i].key))
                complain(b, at[i].where, at[i].key, "found this key and %s, expected only one of the two", margin);
            margin = at[i].key;
            wanted = "the largest difference that does not matter, 0 or more";
            good = parse_real(text, &k->margin) && k->margin >= 0, k->one_sided = same(margin, "not_worse_by");
        } else if (same(at[i].key, "level"))
            wanted = "a level between 0 and 0.5", good = parse_real(text, &k->level) && k->level > 0 && k->level < 0.5;
        else if (same(at[i].key, "seeds"))
            wanted = "the minimum number of seeds for a verdict, 2 or more",
            good = parse_int(text, &seeds) && seeds >= 2;
        else if (same(at[i].key, "failed_as"))
            wanted = "the metric's value that a failed run counts as", good = parse_real(text, &k->failed_as);
        else
            complain(b, at[i].where, at[i].key,
                     "found an unknown key in [criterion], expected metric, margin, not_worse_by, level, seeds or "
                     "failed_as");
        if (!good) complain(b, at[i].where, at[i].key, "found \"%s\", expected %s", text, wanted);
    }
    k->seeds = (size_t)seeds;
    if (trained < seeds)
        str_addf(&b->s->warnings,
                 "%s: [criterion]: a verdict needs %lld seeds per row, but this experiment has %lld: no row gets a "
                 "verdict\n",
                 b->s->path, (long long)seeds, (long long)trained);
}

/* ---- two-level designs ---- */

/* Generators of fractions (Box, Hunter and Hunter 1978, table 12.15): each of the last factors is a product of
 * earlier ones, given as a bit mask. */
static const struct {
    size_t factors, resolution, n;
    unsigned generator[4];
} fractions[] = {
    {3, 3, 1, {3}},         {4, 4, 1, {7}},          {5, 5, 1, {15}},      {5, 3, 2, {3, 5}},
    {6, 6, 1, {31}},        {6, 4, 2, {7, 14}},      {6, 3, 3, {3, 5, 6}}, {7, 7, 1, {63}},
    {7, 4, 3, {7, 14, 13}}, {7, 3, 4, {3, 5, 6, 7}}, {8, 5, 2, {15, 51}},  {8, 4, 4, {14, 13, 7, 11}},
};
enum { MOST_FACTORS = 8 };

/* Finds the smallest fraction for k factors with at least this resolution. Returns how many factors are generated, and
 * their generators; 0: all combinations. */
static size_t find_fraction(size_t k, size_t resolution, const unsigned **generator)
{
    size_t n = 0;
    for (size_t i = 0; resolution && i < LENGTH(fractions); i++)
        if (fractions[i].factors == k && fractions[i].resolution >= resolution && fractions[i].n > n)
            n = fractions[i].n, *generator = fractions[i].generator;
    return n;
}

static bool names_all(build *b, const ini_entry *factorial, const value_list *lists, size_t n)
{
    const char **names;
    size_t n_names = split_text(factorial->value, ',', &names, b->a);
    for (size_t i = 0; i < n_names; i++) {
        bool found = false;
        for (size_t k = 0; k < n; k++) found = found || same(names[i], lists[k].label);
        if (!found)
            return complain(b, factorial->where, "factorial", "found %s, expected a key of this sweep with two values",
                            names[i]);
    }
    for (size_t k = 0; k < n; k++)
        if (lists[k].n != 2 && !lists[k].bad)
            return complain(b, lists[k].where, lists[k].label,
                            "found %zu values, expected two for a factor: low and high", lists[k].n);
    if (n_names != n || n < 2 || n > MOST_FACTORS)
        return complain(b, factorial->where, "factorial",
                        "found %zu factors and %zu lists, expected one factor per list, and 2 to %d factors", n_names,
                        n, MOST_FACTORS);
    return true;
}

static void add_design(build *b, const char *group, const value_list *lists, size_t n, size_t resolution)
{
    analysis *x = &b->s->analysis;
    two_level_design d = {group, resolution, arena_alloc(b->a, n * sizeof *d.factors), n};
    for (size_t k = 0; k < n; k++)
        d.factors[k] = (design_factor){lists[k].label,
                                       {lists[k].keys, lists[k].m},
                                       {lists[k].items[0], lists[k].m},
                                       {lists[k].items[1], lists[k].m}};
    x->designs = build_room(x->designs, &b->cap_designs, x->n_designs, sizeof d, b->a);
    x->designs[x->n_designs++] = d;
}

bool factorial_rows(build *b, const ini_entry *factorial, const ini_entry *resolution, const char *group,
                    const value_list *lists, size_t k, assignment **out, size_t *n)
{
    int64_t wanted = 0;
    const unsigned *generator = NULL;
    if (!names_all(b, factorial, lists, k)) return false;
    for (size_t i = 0; i < k; i++)
        if (lists[i].bad) return false;
    if (resolution && !same(resolution->value, "full") &&
        (!parse_int(resolution->value, &wanted) || wanted < 3 || wanted > (int64_t)k))
        return complain(b, resolution->where, "resolution",
                        "found \"%s\", expected full or a number from 3 to the number of factors, %zu",
                        resolution->value, k);
    size_t generated = find_fraction(k, (size_t)wanted, &generator), own = k - generated, keys = 0;
    for (size_t i = 0; i < k; i++) keys += lists[i].m;
    *n = (size_t)1 << own;
    *out = arena_alloc(b->a, *n * sizeof **out);
    for (size_t r = 0; r < *n; r++) {
        assignment *row = &(*out)[r];
        row->at = arena_alloc(b->a, keys * sizeof *row->at);
        for (size_t i = 0; i < k; i++) {
            /* a product of factors, low = -1 and high = 1: high if an even number of them is low */
            unsigned low_ones = i < own ? ~r & (1u << i) : ~r & generator[i - own] & ((1u << own) - 1);
            bool high = !(__builtin_popcount(low_ones) & 1);
            for (size_t j = 0; j < lists[i].m; j++)
                row->at[row->n++] = (setting){lists[i].keys[j], lists[i].items[high][j]};
        }
    }
    add_design(b, group, lists, k, generated ? (size_t)wanted : 0);
    return true;
}

/* ---- [scale] ---- */

/* Returns a row's own settings with others added, which replace equal keys. */
static assignment joined(build *b, const settings *own, const assignment *more)
{
    assignment out = {.at = arena_alloc(b->a, (own->n + more->n) * sizeof *out.at)};
    for (size_t i = 0; i < own->n; i++) {
        bool replaced = false;
        for (size_t k = 0; k < more->n; k++) replaced = replaced || same(more->at[k].key, own->at[i].key);
        if (!replaced) out.at[out.n++] = own->at[i];
    }
    for (size_t k = 0; k < more->n; k++) out.at[out.n++] = more->at[k];
    return out;
}

void scale_rows(build *b, const value_list *sizes)
{
    enum { LEAST_SIZES = 4 };
    size_t rows = b->s->n_rows;
    if (sizes->n < LEAST_SIZES) {
        complain(b, sizes->where, sizes->label, "found %zu sizes, expected %d or more to fit a power law", sizes->n,
                 LEAST_SIZES);
        return;
    }
    analysis *x = &b->s->analysis;
    x->sizes = arena_alloc(b->a, rows * sizeof *x->sizes);
    for (size_t r = 0; r < rows; r++) {
        const char *of = b->s->rows[r].name;
        text_list *names = &x->sizes[x->n_sizes++];
        *names = (text_list){arena_alloc(b->a, (sizes->n + 1) * sizeof *names->at), 1};
        names->at[0] = of;
        for (size_t i = 0; i < sizes->n; i++) {
            assignment size = {.at = arena_alloc(b->a, sizes->m * sizeof *size.at)}, set;
            for (size_t k = 0; k < sizes->m; k++) size.at[size.n++] = (setting){sizes->keys[k], sizes->items[i][k]};
            set = joined(b, &b->s->rows[r].swept, &size);
            const char *name = arena_printf(b->a, "%s @ %s", of, assignment_text(b, &size));
            spec_row *added = add_row(b, sizes->where, of, name, &set, NULL);
            if (added) added->size_base = arena_printf(b->a, "%s @ %s", b->s->rows[0].name, assignment_text(b, &size));
            names->at[names->n++] = name;
        }
    }
}

/* ---- [condition NAME] ---- */

/* Refuses a row that sets a key of the condition itself: the condition would overwrite its setting. */
static bool sets_one_of(build *b, const char *where, const char *name, const assignment *set, const spec_row *row)
{
    for (size_t i = 0; i < set->n; i++)
        if (settings_get(&row->swept, set->at[i].key))
            return complain(b, where, arena_printf(b->a, "[condition %s]", name),
                            "found %s, which row %s sets too, expected a key that no row sets", set->at[i].key,
                            row->name),
                   true;
    return false;
}

void condition_rows(build *b, const char *where, const char *name, const assignment *set, size_t rows)
{
    const char *base = NULL;
    for (size_t r = 0; r < rows; r++)
        if (sets_one_of(b, where, name, set, &b->s->rows[r])) return;
    for (size_t r = 0; r < rows; r++) {
        const char *row = arena_printf(b->a, "%s @ %s", b->s->rows[r].name, name);
        assignment both = joined(b, &b->s->rows[r].swept, set);
        spec_row *added = add_row(b, where, name, row, &both, NULL);
        if (!base) base = row;
        if (added) added->base = base;
    }
}

/* ---- rows with another base ---- */

spec_row *row_called(build *b, const char *name)
{
    size_t at;
    bool is_new = name_set_add(&b->row_names, name, b->s->n_rows, &at);
    return is_new || at == b->s->n_rows ? NULL : &b->s->rows[at];
}

/* Returns the settings in which the row differs from its base. */
static const char *change_from(build *b, const spec_row *row, const spec_row *base)
{
    assignment own = {.at = arena_alloc(b->a, (row->swept.n + 1) * sizeof *own.at)};
    for (size_t i = 0; i < row->swept.n && row != base; i++) {
        const char *there = settings_get(&base->swept, row->swept.at[i].key);
        if (!there || !same(there, row->swept.at[i].value)) own.at[own.n++] = row->swept.at[i];
    }
    return own.n ? change_text(b, &own) : "";
}

/* Adds a list to the analysis: this base, then the rows compared with it. */
static void add_base(build *b, const spec_row *base)
{
    analysis *x = &b->s->analysis;
    text_list rows = {arena_alloc(b->a, (b->s->n_rows + 1) * sizeof *rows.at), 1};
    rows.at[0] = base->name;
    for (size_t i = 0; i < b->s->n_rows; i++) {
        const spec_row *row = &b->s->rows[i];
        if (row != base && row->base && same(row->base, base->name)) rows.at[rows.n++] = row->name;
    }
    x->conditions = build_room(x->conditions, &b->cap_conditions, x->n_conditions, sizeof rows, b->a);
    x->conditions[x->n_conditions++] = rows;
}

void find_bases(build *b)
{
    const spec *s = b->s;
    for (size_t i = 0; i < s->n_rows; i++) {
        spec_row *row = &s->rows[i], *base = row->base ? row_called(b, row->base) : NULL;
        if (!row->base) continue;
        if (b->s->analysis.n_sizes || *s->analysis.match || s->analysis.until.most) {
            complain(b, b->row_where[i], row->name,
                     "found a row that is compared with another row than base, which [scale], match and seeds = until "
                     "do not allow");
            return;
        }
        if (!base || !base->base || !same(base->base, base->name)) {
            complain(b, b->row_where[i], "base", "found \"%s\", expected a row that names itself as its base",
                     row->base);
            continue;
        }
        row->changed = change_from(b, row, base);
        if (row == base) add_base(b, base);
    }
}

/* ---- searches ---- */

size_t search_rungs(size_t candidates)
{
    size_t rungs = 0;
    while (rungs < SEARCH_RUNGS && (size_t)1 << rungs < candidates) rungs++;
    return rungs ? rungs : 1;
}

size_t search_promoted(size_t alive) { return (alive + 1) / 2; }
