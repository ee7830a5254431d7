/* candidates.c - see candidates.h. */
#include "lab/sweep/candidates.h"
#include "base/cleanup.h"
#include <math.h>
#include <stdlib.h>

/* Returns value i of evenly spaced values, on the log scale if the range is above 0; rounds integers. */
static double spaced(const spec_tune *t, int64_t i)
{
    double share = (double)i / (double)(t->n - 1),
           v = t->low > 0 ? t->low * pow(t->high / t->low, share) : t->low + share * (t->high - t->low);
    char text[32];
    if (t->whole) return round(v);
    snprintf(text, sizeof text, "%.6g", v); /* a readable value */
    return strtod(text, NULL);
}

/* Adds the candidate with these indices in the tunes' ranges, unless rounding makes it equal to another one. */
static bool add(row_search *r, const int64_t *index)
{
    candidate c = {.number = r->n + 1, .alive = true, .score = NAN};
    for (size_t k = 0; k < r->row->n_tunes; k++)
        c.index[k] = index[k], c.value[k] = spaced(&r->row->tunes[k], index[k]);
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].value[0] == c.value[0] && r->at[i].value[1] == c.value[1]) return false;
    r->at[r->n++] = c;
    return true;
}

int candidates_list(row_search *r, err *e)
{
    const spec_row *row = r->row;
    int64_t second = row->n_tunes > 1 ? row->tunes[1].n : 1;
    if (row->n_tunes > MOST_KEYS)
        return fail(e, "row %s: found %zu keys to tune, expected at most %d at once", row->name, row->n_tunes,
                    MOST_KEYS);
    if (row->tunes[0].n * second > MOST_TRIALS)
        return fail(e, "row %s: found %lld candidates, expected at most %d", row->name,
                    (long long)(row->tunes[0].n * second), MOST_TRIALS);
    for (int64_t i = 0; i < row->tunes[0].n; i++)
        for (int64_t j = 0; j < second; j++) add(r, (int64_t[MOST_KEYS]){i, j});
    r->rungs = search_rungs(r->n);
    for (size_t k = 0; k < row->n_tunes; k++)
        if ((size_t)row->tunes[k].seeds > r->seeds) r->seeds = (size_t)row->tunes[k].seeds;
    return 0;
}

candidate *candidates_best(row_search *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].alive) return &r->at[i];
    return NULL;
}

/* Returns -1 if the candidate's value is the lowest tried, 1 if it is the highest, else 0. */
static int edge_of(const row_search *r, const candidate *c, size_t tune)
{
    bool lowest = true, highest = true;
    for (size_t i = 0; i < r->n; i++)
        lowest = lowest && r->at[i].index[tune] >= c->index[tune],
        highest = highest && r->at[i].index[tune] <= c->index[tune];
    return lowest ? -1 : highest;
}

bool candidate_at_edge(const row_search *r, const candidate *c, size_t tune) { return edge_of(r, c, tune) != 0; }

bool candidates_extend(row_search *r)
{
    const candidate *best = candidates_best(r);
    int edge[MOST_KEYS] = {0};
    bool added = false;
    for (size_t k = 0; best && k < r->row->n_tunes; k++) edge[k] = r->row->tunes[k].extend ? edge_of(r, best, k) : 0;
    for (size_t k = 0; best && k < r->row->n_tunes; k++) {
        const spec_tune *t = &r->row->tunes[k];
        int64_t index[MOST_KEYS] = {best->index[0], best->index[1]};
        double value = spaced(t, index[k] += edge[k]);
        if (edge[k] && value >= t->least && value <= t->most) added = add(r, index) || added;
    }
    return added;
}

const char *candidate_settings(const row_search *r, const candidate *c, arena *a)
{
    char number[32];
    CLEANUP(str_free) str s = {0};
    for (size_t k = 0; k < r->row->n_tunes; k++)
        str_addf(&s, "%s\"%s\":%s", k ? "," : "{", r->row->tunes[k].key, format_real(c->value[k], number));
    str_addc(&s, '}');
    return arena_strdup(a, s.s);
}

const candidate *candidate_called(row_search *r, int64_t number, const char *settings, arena *a)
{
    enum { FARTHEST = MOST_EXTENSIONS };
    for (size_t i = 0; i < r->n; i++)
        if ((int64_t)r->at[i].number == number && same(candidate_settings(r, &r->at[i], a), settings)) return &r->at[i];
    const spec_tune *t = r->row->tunes;
    int64_t from[MOST_KEYS] = {0}, to[MOST_KEYS] = {0};
    for (size_t k = 0; k < r->row->n_tunes; k++)
        from[k] = t[k].extend ? -FARTHEST : 0, to[k] = t[k].n - 1 + (t[k].extend ? FARTHEST : 0);
    for (int64_t i = from[0]; i <= to[0] && number == (int64_t)r->n + 1 && r->n < LENGTH(r->at); i++)
        for (int64_t j = from[1]; j <= to[1]; j++) {
            if (!add(r, (int64_t[MOST_KEYS]){i, j})) continue;
            if (same(candidate_settings(r, &r->at[r->n - 1], a), settings)) return &r->at[r->n - 1];
            r->n--;
        }
    return NULL;
}
