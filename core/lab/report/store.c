#include "lab/report/store.h"
#include "lab/report/gather.h"
#include "base/cleanup.h"
#include <math.h>

static db_comparison as_stored(const gathered *g, size_t metric, const gathered_row *row, size_t tests)
{
    const comparison *c = &row->against[metric];
    const read_row *base = g->rows[row->base].row;
    return (db_comparison){.row = row->row->name,
                           .base = base->same_as ? base->same_as : base->name,
                           .metric = g->metrics[metric],
                           .unit = c->percent ? "percent change" : "difference",
                           .n = c->n,
                           .n_base = c->n_base,
                           .tests = tests,
                           .delta = c->delta,
                           .low = c->low,
                           .high = c->high,
                           .p = c->p,
                           .p_adjusted = c->p_adjusted,
                           .rule = isnan(c->p) ? NULL : comparison_rule(c),
                           .variance_seeds = c->v,
                           .variance_sentences = c->u,
                           .df = c->df,
                           .seed_sd = c->seed_sd,
                           .least_detectable = c->detectable,
                           .p_models = c->p_models,
                           .p_outside_base = c->p_outside,
                           .p_permutation = c->p_permutation,
                           .beats_base = c->beats.theta,
                           .beats_base_low = c->beats.low,
                           .beats_base_high = c->beats.high,
                           .verdict = c->verdict,
                           .refused = c->refused};
}

/* Lists compared rows, once each: base and repeated rows have no comparison. */
static size_t list_comparisons(const gathered *g, db_comparison *list)
{
    size_t n = 0;
    for (size_t m = 0; m < g->n_metrics; m++) {
        size_t tests = 0;
        for (size_t i = 0; i < g->x.n_rows; i++) tests += !g->rows[i].row->same_as && !isnan(g->rows[i].against[m].p);
        for (size_t i = 0; i < g->x.n_rows; i++) {
            const comparison *c = &g->rows[i].against[m];
            bool compared = !g->rows[i].row->same_as && g->rows[i].base != NO_ROW;
            if (compared && (!isnan(c->delta) || c->refused)) list[n++] = as_stored(g, m, &g->rows[i], tests);
        }
    }
    return n;
}

static int store_one(db *d, reader *r, const read_stale *x, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    gathered g = {0};
    table_options o = {0};
    int rc = gather(r, x->experiment, &o, false, &a, &g, e);
    if (!rc) {
        db_comparison *list = arena_alloc(&a, (g.x.n_rows * g.n_metrics + 1) * sizeof *list);
        rc = db_put_comparisons(d, x->experiment, x->results, list, list_comparisons(&g, list), e);
    }
    return rc < 0 ? -1 : 0;
}

int store_comparisons(const db_options *o, const char *experiment, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_stale *stale = NULL;
    size_t n = 0;
    CLEANUP(reader_end) reader *r = reader_open(o, e);
    int rc = r ? reader_stale(r, experiment, &a, &stale, &n, e) : -1;
    if (!rc && n) {
        err why = {0};
        db *d = db_open(o, &why);
        for (size_t i = 0; i < n && !*why.text; i++) store_one(d, r, &stale[i], &why);
        db_close(d);
        if (*why.text) log_line(LOG_INFO, "%s: could not store the comparisons with base: %s", o->path, why.text);
    }
    return rc;
}
