/* documents.c - sums the statistics of a document's sentences, if all runs of a metric name the same documents. */
#include "lab/results/internal.h"
#include "text/metric/documents.h"

/* Returns the documents of a metric if all runs with statistics have the same documents, else NULL. */
static const char *common(const read_experiment *x, const char *metric)
{
    const char *counts = NULL;
    for (size_t i = 0; i < x->n_rows; i++)
        for (size_t k = 0; k < x->rows[i].n_runs; k++)
            for (size_t m = 0; m < x->rows[i].runs[k].n_results; m++) {
                const read_result *r = &x->rows[i].runs[k].results[m];
                if (!same(r->metric, metric) || !r->stats.n) continue;
                if (!r->counts || (counts && !same(counts, r->counts))) return NULL;
                if (documents_sum(r->counts, NULL, r->stats.n, r->stats.width, NULL) < 2) return NULL;
                counts = r->counts;
            }
    return counts;
}

size_t stats_by_document(db_stats *s, const char *counts, arena *a)
{
    size_t n = documents_sum(counts, NULL, s->n, s->width, NULL);
    double *sums = arena_alloc(a, (n + 1) * s->width * sizeof *sums);
    if (n > 1 && documents_sum(counts, s->value, s->n, s->width, sums)) *s = (db_stats){n, s->width, sums};
    return n;
}

void read_documents(read_experiment *x, arena *a)
{
    for (size_t j = 0; j < x->n_metrics; j++) {
        bool all = common(x, x->metrics[j]);
        for (size_t i = 0; i < x->n_rows; i++)
            for (size_t k = 0; k < x->rows[i].n_runs; k++)
                for (size_t m = 0; m < x->rows[i].runs[k].n_results; m++) {
                    read_result *r = (read_result *)(uintptr_t)&x->rows[i].runs[k].results[m];
                    /* a row that is shown twice has its runs twice */
                    if (!same(r->metric, x->metrics[j]) || !r->stats.n || r->documents) continue;
                    /* a record's are sums already */
                    if (all || (r->counts && r->stats.n > 1 &&
                                documents_sum(r->counts, NULL, r->stats.n, r->stats.width, NULL) == r->stats.n))
                        r->documents = stats_by_document(&r->stats, r->counts, a);
                }
    }
}
