/* match.c - gives rows equal budgets: parameters, floating-point operations or time. */
#include "lab/sweep/sweep.h"
#include "tensor/cpu/cpu.h"
#include "network/model/costs.h"
#include "lab/results/read.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void prepared_free(prepared *p)
{
    free(p->chosen);
    free(p->trials);
    arena_free(&p->mem);
    *p = (prepared){0};
}

void prepared_choose(prepared *p, const char *row, const char *key, const char *value)
{
    p->chosen = grow(p->chosen, &p->cap, p->n + 1, sizeof *p->chosen);
    p->chosen[p->n++] =
        (spec_chosen){arena_strdup(&p->mem, row), arena_strdup(&p->mem, key), arena_strdup(&p->mem, value)};
}

/* ---- the budget of settings ---- */

typedef struct {
    const spec_row *row;
    const char *by, *key;
    double rate; /* for match = time: seconds that one step takes */
    int64_t vocab;
} budget;

typedef struct {
    const budget *b;
    const config *c;
    const settings *set;
} counting;

static double count_model(void *self, err *e)
{
    const counting *x = self;
    model m;
    if (model_open_to_count(&m, x->set, plugin_task_has_source(x->c->task) ? x->b->vocab : 0, x->b->vocab, F32,
                            &cpu_backend, e))
        return NAN;
    double out = same(x->b->by, "params") ? (double)params_count(&m.params)
                                          : model_update_flops(&m, COSTS_SENTENCE, e) * (double)x->c->steps;
    model_free(&m);
    return out;
}

/* Computes the row's budget with `value` for its free key; NaN if it cannot be built. */
static double spends(const budget *b, int64_t value, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    settings given = {0}, all = {0};
    config c;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    for (size_t i = 0; i < b->row->given.n; i++)
        settings_set(&given, b->row->given.at[i].key, b->row->given.at[i].value, &a);
    settings_set(&given, b->key, text, &a);
    if (config_from_settings(&given, &c, &a, e)) return NAN;
    config_unbind(&c, NULL, config_params, &all, &a);
    for (size_t i = 0; i < b->row->placed.n; i++) { /* plugins loaded by path, and their parameters */
        const char *key = b->row->placed.at[i].key;
        if (strchr(key, '.') || config_plugin_kind(key) || same(key, "plugin_path"))
            settings_set(&all, key, b->row->placed.at[i].value, &a);
    }
    return same(b->by, "time") ? (double)c.steps * b->rate
                               : plugin_count_apart(count_model, &(counting){b, &c, &all}, e);
}

static int64_t current(const spec_row *row, const char *key)
{
    int64_t v = 0;
    parse_int(settings_get(&row->settings, key), &v);
    return v;
}

/* Finds the multiple of `unit` whose budget is nearest to `wanted`. Budgets rise with every free key. */
static int solve(const budget *b, double wanted, int64_t unit, int64_t *out, err *e)
{
    enum { MOST = 1 << 22 };
    int64_t low = 1, high = 2;
    double found;
    while (isfinite(found = spends(b, high * unit, e)) && found < wanted && high * unit < MOST) low = high, high *= 2;
    if (!isfinite(found)) return -1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (!isfinite(found = spends(b, middle * unit, e))) return -1;
        if (found < wanted)
            low = middle;
        else
            high = middle;
    }
    double below = spends(b, low * unit, e), above = spends(b, high * unit, e);
    if (!isfinite(below) || !isfinite(above)) return -1;
    *out = (fabs(below - wanted) < fabs(above - wanted) ? low : high) * unit;
    return 0;
}

/* ---- measured: seconds per step, the vocabulary ---- */

typedef struct {
    double *rate; /* [rows] seconds per step; NaN: not measured */
    int64_t vocab;
} measured;

/* Writes an experiment of its own that trains all rows, or without `all` only base, for a few steps. */
static void write_short(const spec *s, bool all, const char *steps, str *ini)
{
    str_addf(ini, "[experiment]\nname = %s.time\nseeds = %lld\nnote = a few steps, for match = %s of %s\n%s", s->name,
             (long long)s->seeds[0], s->analysis.match, s->name, all ? "" : "only = base\n");
    for (size_t i = 0; i < s->n_rows; i++) {
        const spec_row *row = &s->rows[i];
        const settings *of = row->is_base ? &row->given : &row->swept;
        if (row->is_base)
            str_add(ini, "[base]\n");
        else
            str_addf(ini, "[variant row %zu]\nname = %s\n", i, row->name);
        for (size_t k = 0; k < of->n; k++)
            if (!same(of->at[k].key, "steps") && !same(of->at[k].key, "decode_split"))
                spec_write_setting(ini, of->at[k].key, settings_get(&row->given, of->at[k].key));
        spec_write_setting(ini, "steps", steps);
        spec_write_setting(ini, "decode_split", "none");
    }
}

/* Computes base's vocabulary from its parameters, which grow by an equal number with each word. */
static int64_t vocabulary_of(const spec *s, double parameters, err *e)
{
    enum { ONE = 64, OTHER = 128 };
    budget b = {&s->rows[0], "params", s->analysis.match_key, 0, ONE};
    double few = spends(&b, current(&s->rows[0], s->analysis.match_key), e);
    b.vocab = OTHER;
    double more = spends(&b, current(&s->rows[0], s->analysis.match_key), e);
    return more > few ? (int64_t)llround(ONE + (parameters - few) / ((more - few) / (OTHER - ONE))) : ONE;
}

/* Returns 0, or an exit code. */
static int measure_rows(const spec *s, const trainer *t, measured *out, err *e)
{
    bool all = same(s->analysis.match, "time");
    CLEANUP(str_free) str ini = {0}, errors = {0};
    CLEANUP(spec_free) spec few = {0};
    CLEANUP(arena_free) arena a = {0};
    read_experiment x = {0};
    write_short(s, all, all ? "20" : "1", &ini);
    if (spec_parse(&few, str_text(&ini), s->path, NULL, t->plugins, &errors))
        return fail(e, "match: %s", str_text(&errors)), 2;
    if (t->talk)
        fprintf(stderr,
                all ? "match = time: timing 20 steps of each row\n"
                    : "match = %s: running one step of base to get its vocabulary\n",
                s->analysis.match);
    int code = t->train(t->self, &few, e);
    CLEANUP(reader_end) reader *r = code ? NULL : reader_open(t->db, e);
    if (!code && (!r || reader_experiment(r, few.name, READ_VALUES, &a, &x, e))) code = 1;
    for (size_t i = 0; i < s->n_rows && !code; i++) {
        out->rate[i] = NAN;
        for (size_t k = 0; k < x.n_rows; k++)
            if (same(x.rows[k].name, s->rows[i].name) && x.rows[k].n_runs && x.rows[k].runs[0].tokens_second > 0)
                out->rate[i] = (plugin_task_has_source(s->rows[i].config.task) ? 2 : 1) *
                               (double)(s->rows[i].config.batch_tokens * s->rows[i].config.gradient_accumulation) /
                               x.rows[k].runs[0].tokens_second;
    }
    if (!code)
        out->vocab = x.n_rows && x.rows[0].n_runs ? vocabulary_of(s, x.rows[0].runs[0].parameters, e)
                                                  : s->rows[0].config.vocab_size;
    return code;
}

/* ---- all rows ---- */

/* Solves for the row's free key and prints the remaining difference; fails above 5 %. */
static int match_row(const spec *s, const budget *b, double wanted, const trainer *t, prepared *out, err *e)
{
    int64_t found = 0, unit = same(s->analysis.match_key, "d_model") ? 2 * b->row->config.heads : 1;
    char text[32];
    if (solve(b, wanted, unit, &found, e)) return fail_in(e, "match: row %s: ", b->row->name);
    double left = 100 * (spends(b, found, e) / wanted - 1);
    if (fabs(left) > 5)
        return fail(e,
                    "match = %s: row %s: no %s gives it base's budget; the nearest, %lld, is %+.1f %% off. Match by "
                    "another key, or leave the row out",
                    s->analysis.match, b->row->name, s->analysis.match_key, (long long)found, left);
    snprintf(text, sizeof text, "%lld", (long long)found);
    prepared_choose(out, b->row->name, s->analysis.match_key, text);
    if (t->talk)
        fprintf(stderr, "match = %s: %s gets %s = %s, %+.1f %% of base's budget\n", s->analysis.match, b->row->name,
                s->analysis.match_key, text, left);
    return 0;
}

/* Returns 0, or an exit code. */
static int match_all(const spec *s, const measured *m, const trainer *t, prepared *out, err *e)
{
    budget base = {&s->rows[0], s->analysis.match, s->analysis.match_key, m->rate[0], m->vocab};
    double wanted = spends(&base, current(&s->rows[0], s->analysis.match_key), e);
    int code = isfinite(wanted) ? 0 : 2;
    for (size_t i = 1; i < s->n_rows && !code; i++) {
        const spec_row *row = &s->rows[i];
        budget b = {row, s->analysis.match, s->analysis.match_key, m->rate[i], m->vocab};
        /* Rows that set the key keep their value. Repetitions of a row get the row's value; those of base need none. */
        if (row->same_as == 0 || settings_get(&row->swept, s->analysis.match_key)) continue;
        code = match_row(s, &b, wanted, t, out, e) ? 2 : 0;
    }
    return code;
}

int match_rows(const spec *s, const trainer *t, prepared *out, err *e)
{
    AUTOFREE double *rate = xcalloc(s->n_rows + 1, sizeof *rate);
    measured m = {.rate = rate};
    int code = measure_rows(s, t, &m, e);
    return code ? code : match_all(s, &m, t, out, e);
}

int match_counted(const spec *s, const trainer *t, int64_t vocab, prepared *out, err *e)
{
    if (same(s->analysis.match, "time")) return 1; /* the time of a step is known only from runs */
    AUTOFREE double *rate = xcalloc(s->n_rows + 1, sizeof *rate);
    return match_all(s, &(measured){rate, vocab}, t, out, e);
}
