/* across.c - scores over tasks and their bootstrap. */
#include "lab/statistics/across.h"
#include "text/metric/stats.h"
#include "base/cleanup.h"
#include <math.h>
#include <string.h>

enum { REPLICATES = 5000, SEED = 20210830 };

typedef struct {
    double score, weight;
} scored;

/* A statistic's input: the tasks, or a replicate of them. */
typedef struct {
    const across_task *task;
    size_t n, n_scores;
    scored *scores; /* the row's scores, by task */
} sample;

static int by_score(const void *a, const void *b)
{
    double p = ((const scored *)a)->score, q = ((const scored *)b)->score;
    return (p > q) - (p < q);
}

static double mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++) sum += x[k] / (double)n;
    return sum;
}

static double score_of(const across_task *t, double base, size_t run)
{
    return t->lower ? base / t->row[run] : t->row[run] / base;
}

static void score(sample *s)
{
    scored *at = s->scores;
    for (size_t i = 0; i < s->n; i++) {
        const across_task *t = &s->task[i];
        double base = mean(t->base, t->n_base);
        for (size_t k = 0; k < t->n_row; k++, at++) *at = (scored){score_of(t, base, k), 1 / (double)(s->n * t->n_row)};
    }
}

void across_range(const across_task *t, size_t n, double *from, double *to)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < t[i].n_row; k++) {
            double x = score_of(&t[i], mean(t[i].base, t[i].n_base), k);
            *from = fmin(*from, x), *to = fmax(*to, x);
        }
}

static double iqm_of(sample *s, const void *unused)
{
    (void)unused;
    double below = 0, sum = 0;
    score(s);
    qsort(s->scores, s->n_scores, sizeof *s->scores, by_score);
    for (size_t i = 0; i < s->n_scores; i++) {
        double from = fmax(below, 0.25), to = fmin(below + s->scores[i].weight, 0.75);
        if (to > from) sum += (to - from) * s->scores[i].score;
        below += s->scores[i].weight;
    }
    return 2 * sum;
}

static double better_of(sample *s, const void *unused)
{
    (void)unused;
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        const across_task *t = &s->task[i];
        double wins = 0;
        for (size_t k = 0; k < t->n_row; k++)
            for (size_t b = 0; b < t->n_base; b++) {
                double d = t->lower ? t->base[b] - t->row[k] : t->row[k] - t->base[b];
                wins += d > 0 ? 1 : d == 0 ? 0.5 : 0;
            }
        sum += wins / (double)(t->n_row * t->n_base);
    }
    return sum / (double)s->n;
}

static double above(sample *s, const void *at)
{
    double sum = 0;
    score(s);
    for (size_t i = 0; i < s->n_scores; i++)
        if (s->scores[i].score > *(const double *)at) sum += s->scores[i].weight;
    return sum;
}

/* ---- the bootstrap ---- */

/* Draws n of the values, their distances from the mean stretched by sqrt(n / (n - 1)): plain draws vary too little. */
static const double *drawn(const double *from, size_t n, rng *r, double **to)
{
    double *out = *to, middle = mean(from, n), wider = n > 1 ? sqrt((double)n / (double)(n - 1)) : 1;
    for (size_t k = 0; k < n; k++) {
        double x = from[rng_below(r, n)];
        out[k] = fmax(middle + wider * (x - middle), 1e-9 * middle);
        if (x == middle) out[k] = x; /* equal values stay equal, to the bit */
    }
    *to += n;
    return out;
}

static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

static across_figure figure(const across_task *t, size_t n, double level, double (*f)(sample *, const void *),
                            const void *with)
{
    size_t runs = 0, values = 0;
    for (size_t i = 0; i < n; i++) runs += t[i].n_row, values += t[i].n_row + t[i].n_base;
    AUTOFREE across_task *task = xmalloc((n + 1) * sizeof *task);
    AUTOFREE scored *scores = xmalloc((runs + 1) * sizeof *scores);
    AUTOFREE double *drawings = xmalloc((values + 1) * sizeof *drawings),
                    *replicate = xmalloc(REPLICATES * sizeof *replicate);
    sample s = {task, n, runs, scores};
    memcpy(task, t, n * sizeof *t);
    across_figure out = {.value = f(&s, with)};
    rng r = rng_seed(SEED, 0);
    for (size_t b = 0; b < REPLICATES; b++) {
        double *to = drawings;
        for (size_t i = 0; i < n; i++) {
            task[i].row = drawn(t[i].row, t[i].n_row, &r, &to);
            task[i].base = drawn(t[i].base, t[i].n_base, &r, &to);
        }
        replicate[b] = f(&s, with);
    }
    stats_sort(replicate, REPLICATES);
    out.low = quantile(replicate, REPLICATES, level / 2);
    out.high = quantile(replicate, REPLICATES, 1 - level / 2);
    return out;
}

across_figure across_iqm(const across_task *t, size_t n, double level) { return figure(t, n, level, iqm_of, NULL); }

across_figure across_better(const across_task *t, size_t n, double level)
{
    return figure(t, n, level, better_of, NULL);
}

void across_profile(const across_task *t, size_t n, double level, const double *at, size_t n_at, across_figure *share)
{
    for (size_t i = 0; i < n_at; i++) share[i] = figure(t, n, level, above, &at[i]);
}
