/* layout.c - table cells for readers. */
#include "lab/report/layout.h"
#include "lab/report/cost.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

/* A number with a real minus sign, and with a plus. */
static const char *signed_text(double x, int decimals, arena *a)
{
    const char *text = arena_printf(a, "%.*f", decimals, fabs(x));
    bool zero = !text[strspn(text, "0.")];
    return arena_printf(a, "%s%s", zero ? "" : x < 0 ? "−" : "+", text);
}

/* "−20.1", or in percent "+8.2 %". */
static void put_delta(grid *t, size_t column, const comparison *c, int decimals)
{
    if (!isnan(c->delta)) grid_put(t, column, "%s%s", signed_text(c->delta, decimals, &t->mem), c->percent ? " %" : "");
}

static void put_interval(grid *t, size_t column, double low, double high, int decimals)
{
    if (isnan(low) || isnan(high)) return;
    grid_put(t, column, "%s .. %s", signed_text(low, decimals, &t->mem), signed_text(high, decimals, &t->mem));
}

static void put_plain(grid *t, size_t column, double x, int decimals)
{
    if (!isnan(x)) grid_put(t, column, "%.*f", decimals, x);
}

static void put_p(grid *t, size_t column, double p)
{
    if (isnan(p)) return;
    if (p < 0.001)
        grid_put(t, column, "<0.001");
    else
        grid_put(t, column, "%.3f", p);
}

/* "5.29 ± 0.02", or why there is no number. */
static void put_measure(grid *t, size_t column, const gathered_row *row, const measure *m, int decimals)
{
    const char *sd = m->n > 1 ? arena_printf(&t->mem, " ± %.*f", decimals, m->sd) : "";
    const char *mark = row->changed && row->unsound ? "†‡"
                       : row->changed               ? "†"
                       : row->unsound               ? "‡"
                                                    : ""; /* table.c's note says what it means */
    const char *more = m->diverged ? arena_printf(&t->mem, " (%zu diverged)", m->diverged) : "";
    if (m->n)
        grid_put(t, column, "%.*f%s%s%s", decimals, m->mean, sd, mark, more);
    else if (m->diverged)
        grid_put(t, column, "diverged");
    else if (row->why_skipped)
        grid_put(t, column, "n/a");
    else if (row->failed && !row->open)
        grid_put(t, column, "failed");
    else if (row->open)
        grid_put(t, column, "…");
}

static int decimals_for(const gathered *g, size_t metric) /* of a column */
{
    bool best_is_most = same(g->goals[metric], "max"); /* then the best row tells whether these are percentages */
    double largest = 0;
    int most = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const measure *m = &g->rows[i].of[metric];
        int d = m->n ? decimals_of(g->metrics[metric], g->goals[metric], m->mean) : 0;
        if (d > most) most = d;
        if (m->n && fabs(m->mean) > largest) largest = fabs(m->mean);
    }
    return best_is_most && most ? decimals_of(g->metrics[metric], g->goals[metric], largest) : most;
}

/* ---- our rows ---- */

/* The settings that the paper's Table 3 has a column for. */
static const struct {
    const char *heading, *key;
} settings[] = {
    {"N", "layers"},    {"d_model", "d_model"}, {"d_ff", "d_ff"},      {"h", "heads"},
    {"d_k", "d_k"},     {"d_v", "d_v"},         {"P_drop", "dropout"}, {"ε_ls", "label_smoothing"},
    {"steps", "steps"},
};

/* A setting's value as the paper writes it: 100k, 0.1. */
static void put_setting(grid *t, size_t column, const cJSON *v)
{
    char real[32];
    if (cJSON_IsString(v))
        grid_put(t, column, "%s", v->valuestring);
    else if (cJSON_IsNumber(v) && v->valuedouble >= 10000 && fmod(v->valuedouble, 1000) == 0)
        grid_put(t, column, "%.0fk", v->valuedouble / 1000);
    else if (cJSON_IsNumber(v))
        grid_put(t, column, "%s", format_real(v->valuedouble, real));
}

/* The parts of "heads=1 position=learned" whose key has no column. */
static void put_other(grid *t, size_t column, const char *change)
{
    str other = {0};
    for (const char *p = change; *p;) {
        size_t n = strcspn(p, " "), key = strcspn(p, "=");
        bool known = false;
        for (size_t i = 0; i < LENGTH(settings); i++)
            known = known || (strlen(settings[i].key) == key && !strncmp(settings[i].key, p, key));
        if (!known) {
            if (other.n) str_addc(&other, ' ');
            str_addn(&other, p, n);
        }
        p += n;
        p += strspn(p, " ");
    }
    grid_put(t, column, "%s", str_text(&other));
    str_free(&other);
}

/* Is `key` among the words of "heads=1 d_k=512"? */
static bool changes(const char *change, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = change; *p; p += strspn(p, " ")) {
        if (!strncmp(p, key, n) && p[n] == '=') return true;
        p += strcspn(p, " ");
    }
    return false;
}

static const cJSON *base_config(const gathered *g, cJSON **owned)
{
    for (size_t i = 0; i < g->x.n_rows; i++)
        if (g->rows[i].row->is_base) return *owned = cJSON_Parse(g->rows[i].row->config_json);
    return NULL;
}

static void put_settings(grid *t, size_t column, const read_row *row, const cJSON *base)
{
    cJSON *config = cJSON_Parse(row->config_json);
    for (size_t i = 0; i < LENGTH(settings); i++) {
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(config, settings[i].key);
        const cJSON *b = cJSON_GetObjectItemCaseSensitive(base, settings[i].key);
        if (v && (row->is_base || !cJSON_Compare(v, b, true) || changes(row->change, settings[i].key)))
            put_setting(t, column + i, v);
    }
    put_other(t, column + LENGTH(settings), row->change);
    cJSON_Delete(config);
}

bool layout_is_published_first(const gathered *g) { return !same(g->paper.table, "table3"); }

static const char *label_of(const read_row *row, arena *a)
{
    return *row->group ? arena_printf(a, "(%s)", row->group) : row->name;
}

/* The columns of `--stats full`, after p. */
static const char *const full_columns[] = {
    "p models", "p outside", "p permutation", "P(A > B)", "95 % of P", "sd of seeds", "√V", "√U", "detectable"};

typedef struct {
    /* first column of each part */
    size_t metrics, n, delta, interval, p, verdict, p_models, full, parameters, costs, paper;
    bool has_delta, has_p, has_verdict, has_p_models, has_parameters, has_costs;
    size_t recorded;
    size_t skip; /* leading columns, before them */
} columns;

static columns add_columns(const gathered *g, grid *t)
{
    columns c = {.skip = t->n_columns};
    for (size_t i = 0; i < g->x.n_rows; i++) {
        c.has_delta = c.has_delta || !isnan(g->rows[i].delta);
        c.has_p = c.has_p || !isnan(g->rows[i].p);
        c.has_verdict = c.has_verdict || (g->headline >= 0 && g->rows[i].against[g->headline].verdict);
        c.has_p_models = c.has_p_models || (g->headline >= 0 && !isnan(g->rows[i].against[g->headline].p_models));
        c.has_parameters = c.has_parameters || !isnan(g->rows[i].parameters);
    }
    for (size_t k = 0; g->has_paper && k < g->paper.n_columns; k++)
        c.has_costs = c.has_costs || has_prefix(g->paper.columns[k], "FLOPs");
    c.n = t->n_columns, grid_column(t, "n", true);
    c.metrics = t->n_columns;
    for (size_t m = 0; m < g->n_metrics; m++) grid_column(t, g->metrics[m], true);
    if (c.has_delta) c.delta = t->n_columns, grid_column(t, "Δ", true);
    if (c.has_p) {
        c.interval = t->n_columns, grid_column(t, "95 % interval", true);
        c.p = t->n_columns, grid_column(t, "p", true);
    }
    if (c.has_verdict) c.verdict = t->n_columns, grid_column(t, "verdict", false);
    c.has_p_models = c.has_p_models && !c.has_p && !g->full; /* next to tests of designs only with all statistics */
    if (c.has_p_models) c.p_models = t->n_columns, grid_column(t, "p models", true);
    c.full = t->n_columns;
    for (size_t i = 0; i < LENGTH(full_columns) && g->full && c.has_delta; i++) grid_column(t, full_columns[i], true);
    if (c.has_parameters) c.parameters = t->n_columns, grid_column(t, "params (M)", true);
    c.costs = t->n_columns;
    if (c.has_costs) grid_column(t, "FLOPs counted", true), grid_column(t, "FLOPs by the paper's formula", true);
    c.recorded = t->n_columns;
    for (size_t m = 0; g->has_recorded && m < g->n_metrics; m++)
        grid_column(t, arena_printf(&t->mem, "recorded %s", g->metrics[m]), true);
    c.paper = t->n_columns;
    for (size_t k = 2; g->has_paper && k < g->paper.n_columns; k++)
        if (g->paper.is_result[k] && !layout_is_published_first(g)) {
            const char *name = same(g->paper.columns[k], "params_M") ? "params (M)" : g->paper.columns[k];
            grid_column(t, arena_printf(&t->mem, "paper %s", name), true);
        }
    return c;
}

static void put_full(grid *t, size_t at, const comparison *c, int decimals)
{
    put_p(t, at, c->p_models);
    put_p(t, at + 1, c->p_outside);
    put_p(t, at + 2, c->p_permutation);
    put_plain(t, at + 3, c->beats.theta, 2);
    if (!isnan(c->beats.theta)) grid_put(t, at + 4, "%.2f .. %.2f", c->beats.low, c->beats.high);
    put_plain(t, at + 5, c->percent ? 100 * c->seed_sd : c->seed_sd, decimals + 1);
    put_plain(t, at + 6, c->percent ? 100 * sqrt(c->v) : sqrt(c->v), decimals + 1);
    put_plain(t, at + 7, c->percent ? 100 * sqrt(c->u) : sqrt(c->u), decimals + 1);
    put_plain(t, at + 8, c->detectable, decimals + 1);
}

static void put_comparison(const gathered *g, grid *t, const columns *c, const gathered_row *row)
{
    if (!c->has_delta) return;
    const comparison *x = &row->against[g->headline];
    int decimals = x->percent ? 1 : decimals_for(g, (size_t)g->headline);
    put_delta(t, c->delta, x, decimals);
    const char *none = gathered_no_interval(g, x);
    if (c->has_p && none) grid_put(t, c->interval, "%s", none);
    if (c->has_p && !none) put_interval(t, c->interval, x->low, x->high, decimals);
    if (c->has_p) put_p(t, c->p, row->p);
    if (c->has_verdict && x->verdict) grid_put(t, c->verdict, "%s", x->verdict);
    if (c->has_p_models) put_p(t, c->p_models, x->p_models);
    if (g->full) put_full(t, c->full, x, decimals);
}

/* "3.3e18", as the paper writes it. */
static void put_flops(grid *t, size_t column, double x)
{
    if (!(x > 0)) return;
    char text[32];
    snprintf(text, sizeof text, "%.1e", x);
    size_t mantissa = strcspn(text, "e");
    grid_put(t, column, "%.*se%ld", (int)mantissa, text, strtol(text + mantissa + 1, NULL, 10));
}

static void put_numbers(const gathered *g, grid *t, const columns *c, const gathered_row *row)
{
    size_t most = 0;
    for (size_t m = 0; m < g->n_metrics; m++) {
        put_measure(t, c->metrics + m, row, &row->of[m], decimals_for(g, m));
        if ((int)m == g->headline && row->best) grid_strong(t, c->metrics + m);
        if (row->of[m].n > most) most = row->of[m].n;
    }
    grid_put(t, c->n, "%zu", most);
    put_comparison(g, t, c, row);
    if (c->has_parameters && !isnan(row->parameters)) {
        double millions = row->parameters / 1e6;
        grid_put(t, c->parameters, "%.*f", millions < 10 ? 2 : 1, millions);
    }
    if (c->has_costs) {
        put_flops(t, c->costs, training_flops(row->row));
        put_flops(t, c->costs + 1, training_flops_by_formula(row->row, g->sustained));
    }
    for (size_t m = 0; g->has_recorded && m < g->n_metrics && row->recorded; m++)
        put_measure(t, c->recorded + m, &(gathered_row){0}, &row->recorded_of[m], decimals_for(g, m));
    if (row->paper == NO_ROW || !g->has_paper || layout_is_published_first(g)) return;
    size_t at = c->paper;
    for (size_t k = 2; k < g->paper.n_columns; k++)
        if (g->paper.is_result[k]) grid_put(t, at++, "%s", g->paper.cells[row->paper * g->paper.n_columns + k]);
}

void layout_rows(const gathered *g, grid *t)
{
    bool paper = g->has_paper && !layout_is_published_first(g);
    cJSON *owned = NULL;
    const cJSON *base = base_config(g, &owned);
    grid_column(t, "row", false);
    for (size_t i = 0; i < LENGTH(settings) && paper; i++) grid_column(t, settings[i].heading, true);
    grid_column(t, paper ? "other" : "change", false);
    columns c = add_columns(g, t);
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const read_row *row = g->rows[i].row;
        grid_row(t, i && (!same(row->group, g->rows[i - 1].row->group) || !*row->group));
        grid_put(t, 0, "%s", label_of(row, &t->mem));
        if (paper)
            put_settings(t, 1, row, base);
        else
            grid_put(t, 1, "%s", row->change);
        put_numbers(g, t, &c, &g->rows[i]);
    }
    cJSON_Delete(owned);
}

/* ---- published tables ---- */

void layout_published(const read_published *p, grid *t, bool with_keys)
{
    size_t first = with_keys ? 0 : 1;
    t->title = arena_printf(&t->mem, "%s  %s", p->table, p->title);
    for (size_t j = first; j < p->n_columns; j++) {
        bool number = false;
        for (size_t i = 0; i < p->n_rows; i++) {
            double v;
            number = number || parse_real(p->cells[i * p->n_columns + j], &v);
        }
        grid_column(t, same(p->columns[j], "params_M") && !with_keys ? "params (M)" : p->columns[j], number);
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        const char *const *now = &p->cells[i * p->n_columns];
        grid_row(t, i && same(p->columns[1], "block") && strcmp(now[1], now[1 - (ptrdiff_t)p->n_columns]));
        for (size_t j = first; j < p->n_columns; j++) grid_put(t, j - first, "%s", now[j]);
    }
    grid_note(t, "Paper: %s", p->paper);
}

void layout_beside_published(const gathered *g, grid *t)
{
    const read_published *p = &g->paper;
    for (size_t j = 1; j < p->n_columns; j++) grid_column(t, p->columns[j], p->is_result[j]);
    size_t ours = t->n_columns;
    grid_column(t, "ours", false);
    columns c = add_columns(g, t);
    for (size_t i = 0; i < p->n_rows; i++) {
        bool written = false;
        for (size_t k = 0; k <= g->x.n_rows; k++) {
            bool here = k < g->x.n_rows && g->rows[k].paper == i;
            if (!here && (k < g->x.n_rows || written)) continue;
            grid_row(t, false);
            for (size_t j = 1; j < p->n_columns && !written; j++)
                grid_put(t, j - 1, "%s", p->cells[i * p->n_columns + j]);
            written = true;
            if (!here) break;
            grid_put(t, ours, "%s", g->rows[k].row->name);
            put_numbers(g, t, &c, &g->rows[k]);
        }
    }
    bool rule = true;
    for (size_t k = 0; k < g->x.n_rows; k++) {
        if (g->rows[k].paper != NO_ROW) continue;
        grid_row(t, rule);
        rule = false;
        grid_put(t, ours, "%s", g->rows[k].row->name);
        put_numbers(g, t, &c, &g->rows[k]);
    }
}
