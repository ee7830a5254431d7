#include "text/metric/stats.h"
#include "base/cleanup.h"
#include "text/metric/bleu.h"
#include "base/distribution.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores ---- */

double stats_ratio(const double *sum, const void *options)
{
    (void)options;
    return sum[1] != 0 ? 100 * sum[0] / sum[1] : 0;
}

double stats_bleu(const double *sum, const void *options)
{
    static const bleu_options usual;
    return bleu_from_stats(sum, options ? options : &usual);
}

double stats_f1(const double *sum, const void *options)
{
    (void)options;
    return sum[1] + sum[2] != 0 ? 100 * 2 * sum[0] / (sum[1] + sum[2]) : 0;
}

double stats_perplexity(const double *sum, const void *options)
{
    (void)options;
    return sum[1] > 0 ? exp(sum[0] / sum[1]) : NAN;
}

static inline void add(double *restrict sum, const double *restrict row, size_t width)
{
    for (size_t k = 0; k < width; k++) sum[k] += row[k];
}

/* ---- paired approximate randomisation ----
 *
 * A trial swaps a random subset of the sentences, so it moves the sum of a - b over this subset from a to b. For every
 * eight sentences, the 256 sums over their subsets are computed once; each trial adds the sum that its next random byte
 * selects. This needs an eighth of the additions, and the table stays in the L1 cache. */
enum { GROUP = 8, SUBSETS = 1 << GROUP };

/* sums[s] = sum of the rows i with bit i in s; rows: [n][width], n <= GROUP */
static void sum_subsets(const double *rows, size_t n, size_t width, double *sums)
{
    memset(sums, 0, width * sizeof *sums);
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < (size_t)1 << i; s++) {
            double *to = sums + (s + ((size_t)1 << i)) * width;
            memcpy(to, sums + s * width, width * sizeof *to);
            add(to, rows + i * width, width);
        }
}

/* Adds the sum that each trial's next byte selects to its row of `moved`. Most of the time is spent here, so callers
 * pass a constant `width`, for which the compiler unrolls the loop. */
static inline __attribute__((always_inline)) void add_drawn(const double *sums, uint64_t mask, const size_t width,
                                                            double *moved, size_t trials, rng *r)
{
    uint64_t bits = 0;
    for (size_t t = 0; t < trials; t++, bits >>= GROUP) {
        if (t % (64 / GROUP) == 0) bits = rng_next(r);
        add(moved + t * width, sums + (bits & mask) * width, width);
    }
}

/* moved[t] = the sum of the difference rows in the subset that trial t draws; both arrays are [..][width] */
static void draw_subsets(const double *difference, size_t n, size_t width, double *moved, size_t trials, uint64_t seed)
{
    AUTOFREE double *sums = xmalloc(SUBSETS * width * sizeof *sums);
    rng r = rng_seed(seed, 0);
    for (size_t i = 0; i < n; i += GROUP) {
        size_t size = n - i < GROUP ? n - i : GROUP;
        uint64_t mask = ((uint64_t)1 << size) - 1;
        sum_subsets(difference + i * width, size, width, sums);
        switch (width) {
        case 2: add_drawn(sums, mask, 2, moved, trials, &r); break;
        case 3: add_drawn(sums, mask, 3, moved, trials, &r); break;
        case BLEU_STATS: add_drawn(sums, mask, BLEU_STATS, moved, trials, &r); break;
        default: add_drawn(sums, mask, width, moved, trials, &r);
        }
    }
}

double stats_paired_p(stats_score score, const void *options, const double *a, const double *b, size_t n, size_t width,
                      size_t trials, uint64_t seed)
{
    AUTOFREE double *work = xcalloc((n + trials + 4) * width, sizeof *work);
    double *sum_a = work, *sum_b = sum_a + width, *x = sum_b + width, *y = x + width, *difference = y + width,
           *moved = difference + n * width;
    for (size_t i = 0; i < n; i++) {
        add(sum_a, a + i * width, width);
        add(sum_b, b + i * width, width);
        for (size_t k = 0; k < width; k++) difference[i * width + k] = a[i * width + k] - b[i * width + k];
    }
    double of_a = score(sum_a, options), of_b = score(sum_b, options), observed = fabs(of_a - of_b);
    double rounding = 1e-11 * (fabs(of_a) + fabs(of_b)); /* smaller differences come from the order of additions */
    size_t as_large = 0;
    if (n == 0 || !isfinite(observed)) return NAN;
    draw_subsets(difference, n, width, moved, trials, seed);
    for (size_t t = 0; t < trials; t++) {
        for (size_t k = 0; k < width; k++) {
            x[k] = sum_a[k] - moved[t * width + k];
            y[k] = sum_b[k] + moved[t * width + k];
        }
        if (fabs(score(x, options) - score(y, options)) >= observed - rounding) as_large++;
    }
    return (double)(as_large + 1) / (double)(trials + 1);
}

/* ---- median ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void stats_sort(double *x, size_t n) { qsort(x, n, sizeof *x, ascending); }

double stats_median(double *x, size_t n)
{
    if (!n) return NAN;
    stats_sort(x, n);
    return x[n / 2];
}

/* ---- Holm ---- */

typedef struct {
    double p;
    size_t at;
} ranked;

static int by_p(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x->at > y->at) - (x->at < y->at);
}

size_t stats_holm(double *p, size_t n)
{
    AUTOFREE ranked *order = xmalloc((n + 1) * sizeof *order);
    size_t m = 0;
    double least = 0; /* an adjusted p must not be below the adjusted value of a smaller p */
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i])) order[m++] = (ranked){p[i], i};
    qsort(order, m, sizeof *order, by_p);
    for (size_t k = 0; k < m; k++) {
        double adjusted = fmin(1, (double)(m - k) * order[k].p);
        p[order[k].at] = least = fmax(least, adjusted);
    }
    return m;
}
