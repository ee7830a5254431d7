#include "lab/statistics/scale.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    double slope, intercept; /* log loss = intercept + slope log size */
} line;

/* Least squares; every run weighs the same. values: log losses, size by size. */
static line fit(const scale_points *p, const double *values)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    size_t at = 0;
    for (size_t i = 0; i < p->n_sizes; i++)
        for (size_t r = 0; r < p->runs[i]; r++) {
            double x = log(p->sizes[i]), y = values[at++];
            n++, sx += x, sy += y, sxx += x * x, sxy += x * y;
        }
    double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    return (line){slope, (sy - slope * sx) / n};
}

static size_t count(const scale_points *p, double *values)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_sizes; i++)
        for (size_t r = 0; r < p->runs[i]; r++) values[n++] = log(p->losses[i][r]);
    return n;
}

static size_t all_runs(const scale_points *p)
{
    size_t n = 0;
    for (size_t i = 0; p && i < p->n_sizes; i++) n += p->runs[i];
    return n;
}

/* One sample: [n] log losses to draw from, the fitted line for sizes with one run. */
static void draw(const scale_points *p, const double *values, size_t n, line fitted, rng *r, double *out)
{
    size_t at = 0;
    /* residuals of a fit of two numbers are too small */
    double inflate = n > 2 ? sqrt((double)n / (double)(n - 2)) : 1;
    for (size_t i = 0; i < p->n_sizes; at += p->runs[i++])
        for (size_t k = 0; k < p->runs[i]; k++) {
            if (p->runs[i] > 1) {
                out[at + k] = values[at + rng_below(r, p->runs[i])];
                continue;
            }
            size_t from = (size_t)rng_below(r, n), size = 0, seen = 0;
            while (seen + p->runs[size] <= from) seen += p->runs[size++];
            double residual = values[from] - (fitted.intercept + fitted.slope * log(p->sizes[size]));
            out[at + k] = fitted.intercept + fitted.slope * log(p->sizes[i]) + inflate * residual;
        }
}

/* How many times smaller than base this design is at the loss of base's largest size. */
static double speedup(line own, line base, double largest)
{
    double loss = base.intercept + base.slope * log(largest);
    return largest / exp((loss - own.intercept) / own.slope);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void interval(double *draws, double *low, double *high)
{
    qsort(draws, SCALE_DRAWS, sizeof *draws, ascending);
    *low = draws[(size_t)(0.025 * SCALE_DRAWS)], *high = draws[(size_t)(0.975 * SCALE_DRAWS) - 1];
}

static size_t sizes_with_runs(const scale_points *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_sizes; i++) n += p->runs[i] > 0;
    return n;
}

scale_fit scale_fitted(const scale_points *of, const scale_points *base, uint64_t seed)
{
    scale_fit out = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (sizes_with_runs(of) < 3 || (base && sizes_with_runs(base) < 3)) return out;
    size_t n = all_runs(of), n_base = all_runs(base);
    double *work = xcalloc(2 * (n + n_base) + 2 * SCALE_DRAWS, sizeof *work), *own = work, *own_draw = own + n,
           *other = own_draw + n, *other_draw = other + n_base;
    double *exponents = other_draw + n_base, *gains = exponents + SCALE_DRAWS, largest = 0;
    rng r = rng_seed(seed, 3);
    count(of, own);
    line best = fit(of, own), best_base = {0, 0};
    out.exponent = -best.slope, out.log_a = best.intercept;
    if (base) {
        count(base, other);
        best_base = fit(base, other);
        for (size_t i = 0; i < base->n_sizes; i++) largest = base->runs[i] ? fmax(largest, base->sizes[i]) : largest;
        out.speedup = speedup(best, best_base, largest);
    }
    for (size_t t = 0; t < SCALE_DRAWS; t++) {
        draw(of, own, n, best, &r, own_draw);
        line drawn = fit(of, own_draw);
        exponents[t] = -drawn.slope;
        if (!base) continue;
        draw(base, other, n_base, best_base, &r, other_draw);
        gains[t] = speedup(drawn, fit(base, other_draw), largest);
    }
    interval(exponents, &out.low, &out.high);
    if (base) interval(gains, &out.speedup_low, &out.speedup_high);
    free(work);
    return out;
}
