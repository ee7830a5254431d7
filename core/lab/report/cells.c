/* cells.c - loops over the list of columns: selects a table's columns, writes cells and JSON, prints the list. */
#include "lab/report/columns.h"
#include "base/cleanup.h"
#include <math.h>
#include <string.h>

/* How often does this table repeat a column? item_name: name of the i-th repetition; NULL: not in this table. */
static size_t items_of(const gathered *g, column_each each)
{
    switch (each) {
    case ONCE: return 1;
    case EACH_SETTING: return setting_columns();
    case EACH_METRIC: return g->n_metrics;
    case EACH_RECORDED: return g->has_recorded ? g->n_metrics : 0;
    default: return g->has_paper ? g->paper.n_columns : 0;
    }
}

static const char *item_name(const gathered *g, column_each each, size_t i, bool readers)
{
    switch (each) {
    case ONCE: return g->headline < 0 ? "" : g->headings[g->headline];
    case EACH_SETTING: return setting_heading(i);
    case EACH_METRIC:
    case EACH_RECORDED: return readers ? g->headings[i] : g->metrics[i];
    default: break;
    }
    if (i < 2 || (readers && (!g->paper.is_result[i] || published_comes_first(g))))
        return NULL; /* columns 0 and 1 of a published table are its key and its label */
    return readers && same(g->paper.columns[i], "params_M") ? "params (M)" : g->paper.columns[i];
}

static const char *heading_of(const column *c, const char *item, bool readers, arena *a)
{
    const char *pattern = readers ? c->heading : c->name, *at = strstr(pattern, "%s");
    if (!readers && c->each == EACH_METRIC) /* heading BLEU for the metric's mean, BLEU_sd for its deviation */
        return same(c->name, "mean") ? item : arena_printf(a, "%s_%s", item, c->name);
    return at ? arena_printf(a, "%.*s%s%s", (int)(at - pattern), pattern, item, at + 2) : pattern;
}

const table_column *columns_of(const gathered *g, enum column_in in, size_t *n, arena *a)
{
    bool readers = in & READERS;
    size_t most = 0, end;
    for (size_t k = 0; columns[k].in; k++) most += items_of(g, columns[k].each);
    table_column *out = arena_alloc(a, (most + 1) * sizeof *out);
    *n = 0;
    for (size_t k = 0; columns[k].in; k = end) { /* all columns of one metric precede the next metric's */
        column_each each = columns[k].each;
        end = k + 1;
        while (each != ONCE && columns[end].in && columns[end].each == each) end++;
        for (size_t i = 0; i < items_of(g, each); i++)
            for (size_t j = k; j < end; j++) {
                const column *c = &columns[j];
                const char *item = item_name(g, each, i, readers);
                if (!(c->in & in) || !item || (readers && c->shown && !c->shown(g))) continue;
                out[(*n)++] = (table_column){c, i, heading_of(c, item, readers, a)};
            }
    }
    return out;
}

const char *column_cell(const table_column *c, const gathered *g, const gathered_row *row, enum column_in in, arena *a)
{
    place p = {g, row, c->i, g->headline < 0 ? &comparison_none : &row->against[g->headline]};
    bool readers = in & READERS;
    const char *text = NULL;
    char real[32];
    if (c->of->text && (readers || !c->of->number)) {
        text = c->of->text(&p, a);
    } else {
        double v = c->of->number(&p);
        if (readers && !isnan(v)) text = c->of->print(&p, v, c->of->digits, a);
        if (!readers && isfinite(v)) text = arena_strdup(a, format_real(v, real));
    }
    return text ? text : "";
}

/* Appends the value of a column in JSON; appends nothing for an IF_ANY column without a value. */
static void json_value(const column *c, const place *p, str *out)
{
    CLEANUP(arena_free) arena a = {0};
    const char *text = c->text && !c->number ? c->text(p, &a) : NULL;
    double v = c->number ? c->number(p) : NAN;
    if (c->json)
        c->json(p, out);
    else if (text)
        json_string(out, text);
    else if (c->number && (!isnan(v) || !(c->in & IF_ANY)))
        json_number(out, v);
    else if (!(c->in & IF_ANY))
        str_add(out, "null");
}

void columns_json(const place *p, column_each each, enum column_in in, str *out)
{
    str_addc(out, '{');
    for (size_t k = 0; columns[k].in; k++) {
        CLEANUP(str_free) str value = {0};
        if (columns[k].each == each && columns[k].in & in) json_value(&columns[k], p, &value);
        if (value.n) json_key(out, columns[k].name), str_add(out, str_text(&value));
    }
    str_addc(out, '}');
}

void columns_describe(grid *t)
{
    static const char *const once[] = {"row", "setting", "metric", "metric, recorded", "published column"};
    static const char *const headings[] = {"heading", "CSV", "JSON", "for each", "unit", "meaning"};
    for (size_t k = 0; k < LENGTH(headings); k++) grid_column(t, headings[k], false);
    for (size_t k = 0; columns[k].in; k++) {
        const column *c = &columns[k];
        bool against = !(c->in & JSON) && c->in & AGAINST;
        const char *item = c->each == EACH_METRIC || c->each == ONCE ? "METRIC" : "COLUMN";
        grid_row(t, false);
        if (c->in & READERS) grid_set(t, 0, "%s", heading_of(c, item, true, &t->mem));
        if (c->in & CSV) grid_set(t, 1, "%s", heading_of(c, item, false, &t->mem));
        if (c->in & (JSON | AGAINST)) grid_set(t, 2, "%s%s", against ? "against_base." : "", c->name);
        grid_set(t, 3, "%s", against ? once[EACH_METRIC] : once[c->each]);
        grid_set(t, 4, "%s", c->unit ? c->unit : "the metric's");
        grid_set(t, 5, "%s", c->meaning);
    }
}
