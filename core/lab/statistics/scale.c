#include "lab/statistics/scale.h"
#include "base/distribution.h"
#include "lab/statistics/design.h"
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

/* The factor by which this design is smaller than base at the loss of base's largest size. */
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

/* ---- the difference of two designs over sizes ---- */

typedef struct {
    size_t n;
    double x[SCALE_MOST], d[SCALE_MOST];                         /* log sizes; differences */
    double seeds[SCALE_MOST], choice[SCALE_MOST], v[SCALE_MOST]; /* its variance: two parts, and both */
    double df;                                                   /* degrees of freedom of the seeds' variance */
} differences;

static double mean_log(const scale_points *p, size_t i, double *squares)
{
    double mean = 0;
    for (size_t k = 0; k < p->runs[i]; k++) mean += log(p->losses[i][k]) / (double)p->runs[i];
    for (size_t k = 0; k < p->runs[i]; k++) *squares += (log(p->losses[i][k]) - mean) * (log(p->losses[i][k]) - mean);
    return mean;
}

static size_t step_of(const scale_points *p, size_t i) { return p->step ? p->step[i] : i; }

static double choice_of(const scale_points *p, size_t i) { return p->choice ? p->choice[i] : 0; }

static differences differences_of(const scale_points *row, const scale_points *base)
{
    differences out = {0};
    double squares = 0, weight[SCALE_MOST];
    for (size_t i = 0; i < base->n_sizes; i++)
        for (size_t k = 0; k < row->n_sizes && out.n < SCALE_MOST; k++) {
            if (step_of(row, k) != step_of(base, i) || !row->runs[k] || !base->runs[i]) continue;
            size_t n = out.n++;
            for (; n && out.x[n - 1] > log(base->sizes[i]); n--) /* by size */
                out.x[n] = out.x[n - 1], out.d[n] = out.d[n - 1], weight[n] = weight[n - 1],
                out.choice[n] = out.choice[n - 1];
            out.x[n] = log(base->sizes[i]);
            out.d[n] = mean_log(row, k, &squares) - mean_log(base, i, &squares);
            weight[n] = 1 / (double)row->runs[k] + 1 / (double)base->runs[i];
            out.choice[n] = choice_of(row, k) + choice_of(base, i);
            out.df += (double)(row->runs[k] + base->runs[i]) - 2;
        }
    for (size_t i = 0; i < out.n; i++)
        out.seeds[i] = weight[i] * squares / out.df, out.v[i] = out.seeds[i] + CHOICE_SHARE * out.choice[i];
    if (!(out.df > 0)) out.n = 0;
    return out;
}

typedef struct {
    double mean_x, mean_d, slope, weights, spread; /* spread: weighted squares of x about its mean */
    double inflated, scatter, t;                   /* factor on standard errors; variance of a size about the line */
} trend;

/* The line through the first n differences. */
static trend trend_of(const differences *p, size_t n)
{
    trend f = {0};
    double misfit = 0, mean_v = 0;
    for (size_t i = 0; i < n; i++) {
        double w = 1 / p->v[i];
        f.weights += w, f.mean_x += w * p->x[i], f.mean_d += w * p->d[i], mean_v += p->v[i] / (double)n;
    }
    f.mean_x /= f.weights, f.mean_d /= f.weights;
    for (size_t i = 0; i < n; i++) {
        double x = p->x[i] - f.mean_x;
        f.spread += x * x / p->v[i], f.slope += x * (p->d[i] - f.mean_d) / p->v[i];
    }
    f.slope /= f.spread;
    for (size_t i = 0; i < n; i++) {
        double rest = p->d[i] - f.mean_d - f.slope * (p->x[i] - f.mean_x);
        misfit += rest * rest / p->v[i] / (double)(n - 2);
    }
    f.inflated = misfit > 1 ? sqrt(misfit) : 1;
    f.scatter = (f.inflated * f.inflated - 1) * mean_v;
    f.t = t_upper(0.025, f.inflated > 1 ? (double)(n - 2) : p->df);
    return f;
}

/* The expected difference at a size, for a mean of runs with variance `own`. */
static scale_point expected(const trend *f, double x, double own)
{
    double d = f->mean_d + f->slope * (x - f->mean_x), away = x - f->mean_x;
    double half =
        f->t * sqrt(f->inflated * f->inflated * (1 / f->weights + away * away / f->spread) + f->scatter + own);
    return (scale_point){exp(x), d, d - half, d + half};
}

scale_difference scale_compare(const scale_points *row, const scale_points *base)
{
    differences p = differences_of(row, base);
    scale_point none = {NAN, NAN, NAN, NAN};
    scale_difference out = {.n = p.n,
                            .slope = NAN,
                            .slope_low = NAN,
                            .slope_high = NAN,
                            .slope_p = NAN,
                            .next = none,
                            .check = none,
                            .turns = NAN};
    for (size_t i = 0; i < p.n; i++) {
        double half = howe_half_width(p.seeds[i], p.df, 0, p.choice[i], 0.05);
        out.at[i] = (scale_point){exp(p.x[i]), p.d[i], p.d[i] - half, p.d[i] + half};
    }
    if (p.n < 3 || !(p.v[0] > 0) || !(p.x[p.n - 1] > p.x[0])) return out;
    trend f = trend_of(&p, p.n);
    double error = f.inflated / sqrt(f.spread);
    out.slope = f.slope, out.slope_low = f.slope - f.t * error, out.slope_high = f.slope + f.t * error;
    out.slope_p = 2 * t_tail(fabs(f.slope) / error, f.inflated > 1 ? (double)(p.n - 2) : p.df);
    out.next = expected(&f, p.x[p.n - 1] + log(4), 0);
    double turns = exp(f.mean_x - f.mean_d / f.slope);
    if (turns > out.at[0].size && turns < out.next.size) out.turns = turns;
    if (p.n < 4) return out;
    trend before = trend_of(&p, p.n - 1);
    out.check = expected(&before, p.x[p.n - 1], p.v[p.n - 1]);
    return out;
}
