/* row_runs.c - see row_runs.h. */
#include "lab/report/row_runs.h"
#include "text/metric/documents.h"
#include "text/metric/stats.h"
#include "lab/statistics/choice.h"
#include "base/cleanup.h"
#include <math.h>

bool run_diverged(const read_run *run)
{
    const read_result *only = run->status == DB_DONE && run->n_results == 1 ? run->results : NULL;
    return only && same(only->metric, metric_perplexity.name) && !isfinite(only->value);
}

const char *run_status(const read_run *run) { return run_diverged(run) ? "diverged" : db_status_text(run->status); }

bool row_runs_same_sentences(const row_runs *row, const row_runs *base)
{
    const db_stats *first = base->results[0] ? &base->results[0]->stats : NULL;
    for (size_t i = 0; i < row->n; i++) {
        if (!row->results[i] || !first) return false;
        const db_stats *s = &row->results[i]->stats;
        if (s->n < 2 || s->n != first->n || s->width != first->width) return false;
        if (!same_references(row->references[i], base->references[0])) return false;
    }
    return true;
}

double *row_runs_influences(const row_runs *r)
{
    if (!r->n || !row_runs_same_sentences(r, r)) return NULL;
    size_t m = r->results[0]->stats.n;
    double *z = xmalloc(r->n * m * sizeof *z);
    for (size_t i = 0; i < r->n; i++)
        if (!influence_of(r->results[i], z + i * m)) {
            free(z);
            return NULL;
        }
    return z;
}

static bool is_number(const read_result *x, const metric *m)
{
    return x && isfinite(x->value) && (!metric_in_percent(m) || x->value > 0);
}

/* Did base alone get seeds after the first result? The tests leave these out: adding seeds after seeing a table is an
 * unplanned look. Planned looks (sequential) use all seeds. */
static bool extended_alone(const comparison_task *t, const read_row *base)
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; t->rows[i]->runs != base->runs && k < t->rows[i]->n_runs; k++) {
            const read_run *run = &t->rows[i]->runs[k];
            if (run->late && (run->status == DB_DONE || run->status == DB_FAILED)) return false;
        }
    return !t->sequential && !t->most_seeds;
}

row_runs row_runs_collect(const comparison_task *t, const read_row *row, bool is_base)
{
    size_t most = is_base && t->most_seeds && t->base_seeds > t->most_seeds ? t->base_seeds : t->most_seeds;
    bool alone = is_base && extended_alone(t, row);
    const metric *m = t->metric;
    row_runs r = {.results = xcalloc(row->n_runs + 1, sizeof *r.results),
                  .references = xcalloc(row->n_runs + 1, sizeof *r.references),
                  .values = xcalloc(row->n_runs + 1, sizeof *r.values)};
    AUTOFREE double *scores = xcalloc(row->n_runs + 1, sizeof *scores);
    for (size_t i = 0; i < row->n_runs; i++) {
        const read_run *run = &row->runs[i];
        const read_result *x = run->status == DB_DONE ? read_result_of(run, m->name) : NULL;
        bool lost = run->status == DB_FAILED || run_diverged(run); /* even if it has a value of this metric */
        if ((!x && !lost) || (most && r.n_all == most)) continue;
        if (alone && run->late) {
            r.late++;
            continue;
        }
        r.n_all++;
        if (!is_number(x, m)) continue;
        r.left_out = r.left_out || x->left_out;
        r.results[r.n] = x, r.references[r.n] = run->references, r.values[r.n] = x->value;
        scores[r.n++] = metric_in_percent(m) ? log(x->value) : x->value;
    }
    for (size_t i = r.n; i < r.n_all; i++) r.values[i] = t->failed_as ? *t->failed_as : NAN;
    for (; t->failed_as && r.n < r.n_all; r.n++)
        scores[r.n] = metric_in_percent(m) ? log(*t->failed_as) : *t->failed_as;
    AUTOFREE double *z = row_runs_influences(&r);
    r.arm = arm_measure(scores, z, r.n, z ? r.results[0]->stats.n : 0);
    if (z && r.results[0]->documents) r.arm.widening = documents_widening(r.arm.m);
    return r;
}

static double seed_sd_of_perplexity(const read_row *row)
{
    AUTOFREE double *scores = xcalloc(row->n_runs + 1, sizeof *scores);
    size_t n = 0;
    for (size_t i = 0; i < row->n_runs; i++) {
        const read_result *x =
            row->runs[i].status == DB_DONE ? read_result_of(&row->runs[i], metric_perplexity.name) : NULL;
        if (is_number(x, &metric_perplexity)) scores[n++] = log(x->value);
    }
    return sqrt(arm_measure(scores, NULL, n, 0).s2);
}

void row_runs_add_choice(const comparison_task *t, const read_row *row, row_runs *r)
{
    bool own = same(t->metric->name, metric_perplexity.name);
    double sd = own ? sqrt(r->arm.s2) : seed_sd_of_perplexity(row);
    if (row->n_candidates < 2 || !(sd > 0) || !(r->arm.s2 > 0)) return;
    r->arm.choice = choice_variance(row->behind, row->n_candidates, sd / sqrt(fmax(1, (double)row->trial_seeds))) *
                    (own ? 1 : r->arm.s2 / (sd * sd));
}

void row_runs_free(row_runs *r)
{
    free(r->results);
    free(r->references);
    free(r->values);
    arm_free(&r->arm);
}
