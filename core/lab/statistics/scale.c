#include "lab/statistics/scale.h"
#include "base/distribution.h"
#include "lab/statistics/design.h"
#include "text/metric/stats.h"
#include "base/cleanup.h"
#include <math.h>

typedef struct {
    double slope, intercept; /* log loss = intercept + slope log size */
} line;

/* Fits by least squares; all runs have equal weight. values: log losses, size by size. */
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

static void log_losses(const scale_points *p, double *values)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_sizes; i++)
        for (size_t r = 0; r < p->runs[i]; r++) values[n++] = log(p->losses[i][r]);
}

static size_t all_runs(const scale_points *p)
{
    size_t n = 0;
    for (size_t i = 0; p && i < p->n_sizes; i++) n += p->runs[i];
    return n;
}

/* Draws a sample of n log losses: a size's runs, or for a single run the fitted value plus a drawn residual. */
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

static void interval(double *draws, double *low, double *high)
{
    stats_sort(draws, SCALE_DRAWS);
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
    AUTOFREE double *own = xcalloc(2 * (n + n_base) + 2 * SCALE_DRAWS, sizeof *own);
    double *own_draw = own + n, *other = own_draw + n, *other_draw = other + n_base;
    double *exponents = other_draw + n_base, *gains = exponents + SCALE_DRAWS, largest = 0;
    rng r = rng_seed(seed, 3);
    log_losses(of, own);
    line best = fit(of, own), best_base = {0, 0};
    out.exponent = -best.slope, out.log_a = best.intercept;
    if (base) {
        log_losses(base, other);
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
    return out;
}

/* ---- the difference of two designs over sizes ---- */

typedef struct {
    size_t n;
    double x[SCALE_MOST], d[SCALE_MOST];      /* log sizes; differences */
    double seeds[SCALE_MOST], df[SCALE_MOST]; /* variance of d over seeds, and its degrees of freedom */
    double choice[SCALE_MOST];
} differences;

static arm arm_of(const scale_points *p, size_t i)
{
    AUTOFREE double *scores = xcalloc(p->runs[i], sizeof *scores);
    for (size_t k = 0; k < p->runs[i]; k++) scores[k] = log(p->losses[i][k]);
    arm a = arm_measure(scores, NULL, p->runs[i], 0);
    a.choice = p->choice ? p->choice[i] : 0;
    return a;
}

static size_t step_of(const scale_points *p, size_t i) { return p->step ? p->step[i] : i; }

/* Inserts a difference by size x, in ascending order. */
static void add_difference(differences *p, double x, difference d)
{
    size_t n = p->n++;
    for (; n && p->x[n - 1] > x; n--)
        p->x[n] = p->x[n - 1], p->d[n] = p->d[n - 1], p->seeds[n] = p->seeds[n - 1], p->df[n] = p->df[n - 1],
        p->choice[n] = p->choice[n - 1];
    p->x[n] = x, p->d[n] = d.d, p->seeds[n] = d.v, p->df[n] = d.df, p->choice[n] = d.choice;
}

static differences differences_of(const scale_points *row, const scale_points *base)
{
    differences out = {0};
    for (size_t i = 0; i < base->n_sizes; i++)
        for (size_t k = 0; k < row->n_sizes && out.n < SCALE_MOST; k++) {
            if (step_of(row, k) != step_of(base, i) || row->runs[k] < 2 || base->runs[i] < 2) continue;
            arm a = arm_of(row, k), b = arm_of(base, i);
            add_difference(&out, log(base->sizes[i]), design_compare(&a, &b, INFINITY));
        }
    return out;
}

typedef struct {
    size_t n;
    double mean_x, mean_d, slope, spread; /* spread: squares of x about its mean */
    double inflated, scatter;             /* factor on standard errors; variance of a size about the line */
} trend;

/* The variance of a weighted sum of differences. */
typedef struct {
    double v, squares, choice; /* squares: sum of (v's part)² / its degrees of freedom (Satterthwaite 1946) */
} sum_variance;

static void add_part(sum_variance *s, const differences *p, size_t i, double weight)
{
    double v = weight * weight * p->seeds[i];
    s->v += v, s->squares += v * v / p->df[i], s->choice += weight * weight * p->choice[i];
}

static double satterthwaite(const sum_variance *s) { return s->squares > 0 ? s->v * s->v / s->squares : 1; }

/* The line through the first n differences, which weigh the same: with weights from variances of few seeds, a size
 * whose seeds agree by chance would decide. */
static trend trend_of(const differences *p, size_t n)
{
    trend f = {.n = n};
    double misfit = 0, mean_v = 0;
    sum_variance chance = {0};
    for (size_t i = 0; i < n; i++) f.mean_x += p->x[i] / (double)n, f.mean_d += p->d[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double x = p->x[i] - f.mean_x;
        f.spread += x * x, f.slope += x * (p->d[i] - f.mean_d);
    }
    f.slope /= f.spread;
    for (size_t i = 0; i < n; i++) {
        double x = p->x[i] - f.mean_x, rest = p->d[i] - f.mean_d - f.slope * x;
        double v = p->seeds[i] + CHOICE_SHARE * p->choice[i];
        misfit += rest * rest, mean_v += v / (double)n;
        add_part(&chance, p, i, sqrt(1 - 1 / (double)n - x * x / f.spread));
    }
    misfit /= chance.v + CHOICE_SHARE * chance.choice;
    f.inflated = f_tail(misfit, (double)(n - 2), satterthwaite(&chance)) < 0.2 ? sqrt(misfit) : 1;
    f.scatter = (f.inflated * f.inflated - 1) * mean_v;
    return f;
}

/* Degrees of freedom of the sum's variance; if that is inflated, at most those of the scatter about the line. */
static double df_of(const trend *f, const sum_variance *s)
{
    return f->inflated > 1 ? fmin(satterthwaite(s), (double)(f->n - 2)) : satterthwaite(s);
}

static double half_width(const trend *f, const sum_variance *s, double more)
{
    double grown = f->inflated * f->inflated;
    return howe_half_width(grown * s->v + more, df_of(f, s), 0, grown * s->choice, 0.05);
}

/* The line's difference at size x with its interval. of_runs: a prediction for the mean of the runs of difference n. */
static scale_point expected(const differences *p, const trend *f, double x, bool of_runs)
{
    double away = x - f->mean_x, d = f->mean_d + f->slope * away;
    sum_variance s = {0};
    for (size_t i = 0; i < f->n; i++) add_part(&s, p, i, 1 / (double)f->n + away * (p->x[i] - f->mean_x) / f->spread);
    if (of_runs) add_part(&s, p, f->n, 1 / f->inflated);
    double half = half_width(f, &s, f->scatter);
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
        double half = howe_half_width(p.seeds[i], p.df[i], 0, p.choice[i], 0.05);
        out.at[i] = (scale_point){exp(p.x[i]), p.d[i], p.d[i] - half, p.d[i] + half};
    }
    if (p.n < 3 || !(p.x[p.n - 1] > p.x[0])) return out;
    trend f = trend_of(&p, p.n);
    sum_variance s = {0};
    for (size_t i = 0; i < p.n; i++) add_part(&s, &p, i, (p.x[i] - f.mean_x) / f.spread);
    if (!(s.v > 0)) return out;
    double half = half_width(&f, &s, 0), grown = f.inflated * f.inflated;
    out.slope = f.slope, out.slope_low = f.slope - half, out.slope_high = f.slope + half;
    out.slope_p = howe_p(f.slope, grown * s.v, df_of(&f, &s), 0, grown * s.choice);
    out.next = expected(&p, &f, p.x[p.n - 1] + log(4), false);
    double turns = exp(f.mean_x - f.mean_d / f.slope);
    if (turns > out.at[0].size && turns < out.next.size) out.turns = turns;
    if (p.n < 4) return out;
    trend before = trend_of(&p, p.n - 1);
    out.check = expected(&p, &before, p.x[p.n - 1], true);
    return out;
}
