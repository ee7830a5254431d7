/* identical.c - names rows whose runs have equal numbers on every seed, though their settings differ: a plugin that
 * ignores its setting looks like a result. */
#include "lab/report/layout.h"
#include "base/cleanup.h"
#include <math.h>

/* Does a run have a value that tells runs apart: other than 0, 1 and 100, the shares of none and all? */
static bool tells_apart(const read_run *run)
{
    bool any = false;
    for (size_t m = 0; m < run->n_results; m++) {
        double v = run->results[m].value;
        any |= isfinite(v) && v != 0 && v != 1 && v != 100;
    }
    return any;
}

static bool equal_runs(const read_run *a, const read_run *b)
{
    if (a->n_results != b->n_results || !tells_apart(a)) return false;
    for (size_t m = 0; m < a->n_results; m++)
        if (!same(a->results[m].metric, b->results[m].metric) || a->results[m].value != b->results[m].value)
            return false;
    return true;
}

/* Do the rows have a common seed, and are all numbers equal on each common seed? */
static bool equal_rows(const read_row *a, const read_row *b)
{
    bool shared = false;
    if (a->same_as || b->same_as || same(a->config_hash, b->config_hash)) return false;
    for (size_t i = 0; i < a->n_runs; i++)
        for (size_t k = 0; k < b->n_runs; k++) {
            const read_run *x = &a->runs[i], *y = &b->runs[k];
            if (x->seed != y->seed || x->status != DB_DONE || y->status != DB_DONE || x->foreign || y->foreign)
                continue;
            if (!equal_runs(x, y)) return false; /* mostly the first pair: a table compares all rows with each other */
            shared = true;
        }
    return shared;
}

void footnote_identical(const gathered *g, grid *t)
{
    size_t n = g->x.n_rows;
    AUTOFREE bool *named = xcalloc(n + 1, sizeof *named);
    for (size_t i = 0; i < n; i++) {
        CLEANUP(str_free) str list = {0};
        for (size_t k = i + 1; k < n && !named[i]; k++) {
            if (named[k] || !equal_rows(&g->x.rows[i], &g->x.rows[k])) continue;
            if (!list.n) str_add(&list, g->x.rows[i].is_base ? "base" : g->x.rows[i].name);
            str_addf(&list, ", %s", g->x.rows[k].name);
            named[k] = true;
        }
        if (list.n) grid_footnote(t, "Equal numbers on every seed, though the settings differ: %s.", list.s);
    }
}
