/* machine.c - a gathered table for programs: CSV and JSON, numbers in full precision. */
#include "lab/report/layout.h"
#include <math.h>
#include <string.h>

static const char *state_of(const gathered_row *row)
{
    if (row->why_skipped) return "skipped";
    if (row->open) return row->done ? "partial" : "open";
    if (row->failed) return row->done ? "partial" : "failed";
    return "done";
}

static size_t numbers_in(const gathered *g, const gathered_row *row)
{
    size_t most = 0;
    for (size_t m = 0; m < g->n_metrics; m++)
        if (row->of[m].n > most) most = row->of[m].n;
    return most;
}

/* ---- CSV ---- */

static void put_real(grid *t, size_t column, double v)
{
    char text[32];
    if (isfinite(v)) grid_put(t, column, "%s", format_real(v, text));
}

/* The headline's comparison; empty without a headline. */
static const comparison *comparison_of(const gathered *g, const gathered_row *row)
{
    return g->headline < 0 ? &comparison_none : &row->against[g->headline];
}

void layout_csv(const gathered *g, str *out)
{
    static const char *const leading[] = {"row", "name", "change", "state", "n", "failed"};
    grid t = {0};
    for (size_t i = 0; i < LENGTH(leading); i++) grid_column(&t, leading[i], false);
    for (size_t m = 0; m < g->n_metrics; m++) {
        grid_column(&t, g->metrics[m], true);
        grid_column(&t, arena_printf(&t.mem, "%s_sd", g->metrics[m]), true);
        grid_column(&t, arena_printf(&t.mem, "%s_diverged", g->metrics[m]), true);
    }
    size_t tail = t.n_columns;
    static const char *const trailing[] = {"delta", "low", "high", "p", "p_models", "params", "verdict"};
    for (size_t i = 0; i < LENGTH(trailing); i++) grid_column(&t, trailing[i], true);
    for (size_t k = 2; g->has_paper && k < g->paper.n_columns; k++)
        grid_column(&t, arena_printf(&t.mem, "paper_%s", g->paper.columns[k]), true);
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const gathered_row *row = &g->rows[i];
        grid_row(&t, false);
        if (*row->row->group)
            grid_put(&t, 0, "(%s)", row->row->group);
        else
            grid_put(&t, 0, "%s", row->row->name);
        grid_put(&t, 1, "%s", row->row->name);
        grid_put(&t, 2, "%s", row->row->change);
        grid_put(&t, 3, "%s", state_of(row));
        grid_put(&t, 4, "%zu", numbers_in(g, row));
        grid_put(&t, 5, "%zu", row->failed);
        for (size_t m = 0; m < g->n_metrics; m++) {
            put_real(&t, LENGTH(leading) + 3 * m, row->of[m].mean);
            put_real(&t, LENGTH(leading) + 3 * m + 1, row->of[m].sd);
            grid_put(&t, LENGTH(leading) + 3 * m + 2, "%zu", row->of[m].diverged);
        }
        const comparison *c = comparison_of(g, row);
        const double numbers[] = {c->delta, c->low, c->high, row->p, c->p_models, row->parameters};
        for (size_t k = 0; k < LENGTH(numbers); k++) put_real(&t, tail + k, numbers[k]);
        grid_put(&t, tail + LENGTH(numbers), "%s", c->verdict ? c->verdict : "");
        for (size_t k = 2; g->has_paper && row->paper != NO_ROW && k < g->paper.n_columns; k++)
            grid_put(&t, tail + LENGTH(trailing) - 2 + k, "%s", g->paper.cells[row->paper * g->paper.n_columns + k]);
    }
    grid_print(&t, TABLE_CSV, out);
    grid_free(&t);
}

/* ---- JSON ---- */

static void key(str *out, const char *name, bool first)
{
    str_add(out, first ? "" : ",");
    json_string(out, name);
    str_addc(out, ':');
}
static void key_text(str *out, const char *name, const char *text, bool first)
{
    key(out, name, first);
    if (text)
        json_string(out, text);
    else
        str_add(out, "null");
}
static void key_real(str *out, const char *name, double v)
{
    key(out, name, false);
    json_number(out, v);
}

/* Everything about one comparison; null where nothing is known. */
static void json_comparison(const comparison *c, str *out)
{
    key(out, "against_base", false);
    if (isnan(c->delta) && !c->refused) {
        str_add(out, "null");
        return;
    }
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"delta", c->delta},
                   {"low", c->low},
                   {"high", c->high},
                   {"p", c->p},
                   {"p_adjusted", c->p_adjusted},
                   {"variance_seeds", c->v},
                   {"variance_sentences", c->u},
                   {"df", c->df},
                   {"seed_sd", c->seed_sd},
                   {"least_detectable", c->detectable},
                   {"p_models", c->p_models},
                   {"p_outside_base", c->p_outside},
                   {"p_permutation", c->p_permutation},
                   {"beats_base", c->beats.theta},
                   {"beats_base_low", c->beats.low},
                   {"beats_base_high", c->beats.high}};
    str_addf(out, "{\"n\":%zu,\"n_base\":%zu", c->n, c->n_base);
    key_text(out, "unit", c->percent ? "percent change" : "difference", false);
    key_text(out, "rule", isnan(c->p) ? NULL : comparison_rule(c), false);
    key_text(out, "verdict", c->verdict, false);
    key_text(out, "refused", c->refused, false);
    for (size_t i = 0; i < LENGTH(numbers); i++) key_real(out, numbers[i].name, numbers[i].value);
    str_addc(out, '}');
}

static void json_measures(const gathered *g, const gathered_row *row, str *out)
{
    key(out, "metrics", false);
    for (size_t m = 0; m < g->n_metrics; m++) {
        const measure *x = &row->of[m];
        str_add(out, m ? "," : "{");
        key(out, g->metrics[m], true);
        str_addf(out, "{\"n\":%zu,\"diverged\":%zu", x->n, x->diverged);
        key_real(out, "mean", x->mean);
        key_real(out, "sd", x->sd);
        key(out, "values", false);
        str_addc(out, '[');
        for (size_t i = 0; i < x->n; i++) {
            if (i) str_addc(out, ',');
            json_number(out, x->values[i]);
        }
        str_addc(out, ']');
        json_comparison(&row->against[m], out);
        str_addc(out, '}');
    }
    str_add(out, g->n_metrics ? "}" : "{}");
}

/* The cells of a published row as an object; numbers as numbers. */
static void json_published(const read_published *p, size_t row, str *out)
{
    str_addc(out, '{');
    for (size_t k = 0; k < p->n_columns; k++) {
        const char *text = p->cells[row * p->n_columns + k];
        double v;
        key(out, p->columns[k], !k);
        if (!*text)
            str_add(out, "null");
        else if (k && parse_real(text, &v))
            json_number(out, v);
        else
            json_string(out, text);
    }
    str_addc(out, '}');
}

void layout_json(const gathered *g, str *out)
{
    str_addc(out, '{');
    key_text(out, "experiment", g->x.name, true);
    key_text(out, "note", g->x.note, false);
    key_text(out, "headline", g->headline < 0 ? NULL : g->metrics[g->headline], false);
    str_addf(out,
             ",\"test\":{\"method\":\"crossed components of seeds and sentences, Howe's "
             "interval\",\"adjusted\":\"Holm\",\"rows\":%zu,"
             "\"models\":\"paired approximate randomisation over sentences\",\"trials\":%d}",
             g->tests, g->trials);
    if (g->has_paper) key_text(out, "paper", g->paper.paper, false);
    key(out, "rows", false);
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const gathered_row *row = &g->rows[i];
        str_add(out, i ? ",\n{" : "[\n{");
        key_text(out, "name", row->row->name, true);
        key_text(out, "group", row->row->group, false);
        key_text(out, "change", row->row->change, false);
        key_text(out, "same_as", row->row->same_as, false);
        key_text(out, "state", state_of(row), false);
        if (row->why_skipped) key_text(out, "reason", row->why_skipped, false);
        if (row->changed) str_addf(out, ",\"plugin_changed\":%zu", row->changed);
        str_addf(out, ",\"n\":%zu,\"failed\":%zu,\"open\":%zu", numbers_in(g, row), row->failed, row->open);
        json_measures(g, row, out);
        const comparison *c = comparison_of(g, row);
        key_real(out, "delta", c->delta);
        key_real(out, "low", c->low);
        key_real(out, "high", c->high);
        key_real(out, "p", row->p);
        key_real(out, "p_models", c->p_models);
        key_real(out, "params", row->parameters);
        if (g->has_paper) {
            key(out, "published", false);
            if (row->paper == NO_ROW)
                str_add(out, "null");
            else
                json_published(&g->paper, row->paper, out);
        }
        str_addc(out, '}');
    }
    str_add(out, g->x.n_rows ? "\n]}\n" : "[]}\n");
}

void layout_published_json(const read_published *p, str *out)
{
    str_addc(out, '{');
    key_text(out, "table", p->table, true);
    key_text(out, "paper", p->paper, false);
    key_text(out, "title", p->title, false);
    key(out, "rows", false);
    for (size_t i = 0; i < p->n_rows; i++) {
        str_add(out, i ? ",\n" : "[\n");
        json_published(p, i, out);
    }
    str_add(out, "\n]}\n");
}
