/* factors.c - levels of keys, and grids among the rows. */
#include "lab/report/factors.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t factor_named(const factor_table *t, const char *name, size_t length)
{
    for (size_t i = 0; i < t->n_factors; i++)
        if (strlen(t->factors[i].name) == length && !strncmp(t->factors[i].name, name, length)) return i;
    return NO_ROW;
}

/* Finds the next "key=value" of a change and moves *p behind it; false at the end. The value ends at a blank. */
static bool next_change(const char **p, const char **key, size_t *key_n, const char **value, size_t *value_n)
{
    while (**p) {
        size_t n = strcspn(*p, " ");
        const char *equals = memchr(*p, '=', n), *at = *p;
        *p += n;
        *p += strspn(*p, " ");
        if (!equals) continue;
        *key = at, *key_n = (size_t)(equals - at);
        *value = equals + 1, *value_n = n - *key_n - 1;
        return true;
    }
    return false;
}

/* A row's setting from its change, or from its configuration if the change lacks it or is a search; NULL: neither. */
static const char *setting(const read_row *row, const cJSON *config, const char *key, arena *a)
{
    const char *p = row->change, *k, *v;
    size_t kn, vn;
    char real[32];
    while (next_change(&p, &k, &kn, &v, &vn))
        if (strlen(key) == kn && !strncmp(k, key, kn) && !has_prefix(v, "tune(")) return arena_strndup(a, v, vn);
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(config, key);
    if (cJSON_IsString(x)) return arena_strdup(a, x->valuestring);
    if (cJSON_IsNumber(x)) return arena_strdup(a, format_real(x->valuedouble, real));
    if (cJSON_IsBool(x)) return cJSON_IsTrue(x) ? "true" : "false";
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    double x = 0, y = 0;
    bool p = parse_real(*(const char *const *)a, &x), q = parse_real(*(const char *const *)b, &y);
    return p && q ? (x > y) - (x < y) : 0;
}

static void find_levels(const gathered *g, const char **value, factor_table *t, size_t f, arena *a)
{
    factor *x = &t->factors[f];
    x->levels = arena_alloc(a, (g->x.n_rows + 1) * sizeof *x->levels);
    x->numbers = true;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const char *v = value[i * t->n_factors + f];
        size_t k = 0;
        double ignored;
        while (v && k < x->n_levels && !same(x->levels[k], v)) k++;
        if (v && k == x->n_levels) x->levels[x->n_levels++] = v, x->numbers = x->numbers && parse_real(v, &ignored);
    }
    if (x->numbers) qsort(x->levels, x->n_levels, sizeof *x->levels, by_number);
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const char *v = value[i * t->n_factors + f];
        size_t k = 0;
        while (v && !same(x->levels[k], v)) k++;
        t->level[i * t->n_factors + f] = v ? k : NO_ROW;
    }
}

void factors_find(const gathered *g, arena *a, factor_table *t)
{
    size_t cap = 0, key_n, value_n;
    factor *list = NULL;
    const char *key, *value;
    *t = (factor_table){0};
    for (size_t i = 0; i < g->x.n_rows; i++)
        for (const char *p = g->rows[i].row->change; next_change(&p, &key, &key_n, &value, &value_n);) {
            t->factors = list;
            if (factor_named(t, key, key_n) != NO_ROW) continue;
            list = grow(list, &cap, t->n_factors + 1, sizeof *list);
            list[t->n_factors++] = (factor){.name = arena_strndup(a, key, key_n)};
        }
    t->factors = arena_keep(a, list, t->n_factors, sizeof *list);
    t->level = arena_alloc(a, (g->x.n_rows * t->n_factors + 1) * sizeof *t->level);
    const char **values = arena_alloc(a, (g->x.n_rows * t->n_factors + 1) * sizeof *values);
    for (size_t i = 0; i < g->x.n_rows; i++) {
        cJSON *config = cJSON_Parse(g->rows[i].row->config_json);
        for (size_t f = 0; f < t->n_factors; f++)
            values[i * t->n_factors + f] = setting(g->rows[i].row, config, t->factors[f].name, a);
        cJSON_Delete(config);
    }
    for (size_t f = 0; f < t->n_factors; f++) find_levels(g, values, t, f, a);
}

bool factors_in_slice(const factor_table *t, size_t i, size_t base, size_t a, size_t b)
{
    for (size_t f = 0; f < t->n_factors; f++)
        if (f != a && f != b && t->level[i * t->n_factors + f] != t->level[base * t->n_factors + f]) return false;
    return true;
}

/* Fills the grid from the rows of the slice, or from all rows; returns the number of cells with a number. *even: all
 * cells have equally many rows. */
static size_t fill(const gathered *g, const factor_table *t, size_t metric, size_t base, bool slice, factor_grid *x,
                   size_t *count, bool *even)
{
    size_t nb = t->factors[x->b].n_levels, cells = t->factors[x->a].n_levels * nb, filled = 0;
    for (size_t c = 0; c < cells; c++) x->mean[c] = 0, x->sd[c] = NAN, x->row[c] = NO_ROW, count[c] = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        size_t la = t->level[i * t->n_factors + x->a], lb = t->level[i * t->n_factors + x->b], c = la * nb + lb;
        const measure *m = &g->rows[i].of[metric];
        if (la == NO_ROW || lb == NO_ROW || g->rows[i].row->same_as || !m->n ||
            (slice && !factors_in_slice(t, i, base, x->a, x->b)))
            continue;
        x->mean[c] += m->mean;
        x->sd[c] = m->sd;
        x->row[c] = i;
        count[c]++;
    }
    *even = true;
    for (size_t c = 0; c < cells; c++) {
        filled += count[c] > 0;
        *even = *even && count[c] == count[0];
        x->mean[c] = count[c] ? x->mean[c] / (double)count[c] : NAN;
        if (count[c] > 1) x->sd[c] = NAN, x->row[c] = NO_ROW;
    }
    return filled;
}

size_t factors_grids(const gathered *g, const factor_table *t, size_t metric, arena *a, factor_grid **out)
{
    enum { MOST = 10 };
    factor_grid *list = arena_alloc(a, MOST * sizeof *list);
    size_t n = 0, base = 0;
    while (base < g->x.n_rows && !g->rows[base].row->is_base) base++;
    for (size_t i = 0; i < t->n_factors && base < g->x.n_rows; i++)
        for (size_t j = i + 1; j < t->n_factors && n < MOST; j++) {
            size_t cells = t->factors[i].n_levels * t->factors[j].n_levels;
            if (t->factors[i].n_levels < 2 || t->factors[j].n_levels < 2) continue;
            factor_grid x = {.a = i, .b = j, .rows_each = 1};
            size_t *count = arena_alloc(a, cells * sizeof *count);
            bool even;
            x.mean = arena_alloc(a, cells * sizeof *x.mean);
            x.sd = arena_alloc(a, cells * sizeof *x.sd);
            x.row = arena_alloc(a, cells * sizeof *x.row);
            size_t filled = fill(g, t, metric, base, false, &x, count, &even);
            if (filled == cells && even && count[0] > 1)
                x.rows_each = count[0];
            else
                filled = fill(g, t, metric, base, true, &x, count, &even);
            if (filled * 4 > cells * 3) list[n++] = x;
        }
    *out = list;
    return n;
}
