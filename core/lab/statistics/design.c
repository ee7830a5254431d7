#include "lab/statistics/design.h"
#include "base/distribution.h"
#include <math.h>
#include <stdlib.h>

/* ---- one row ---- */

/* Mean square of seeds x sentences: sum over seeds and sentences of (z_sj - mean_s z_j)² / ((n - 1)(m - 1)). The values
 * of a seed sum to 0, so their own mean needs no subtracting. */
static double interaction(const double *z, const double *mean, size_t n, size_t m)
{
    double sum = 0;
    if (n < 2 || m < 2) return NAN;
    for (size_t s = 0; s < n; s++)
        for (size_t j = 0; j < m; j++) sum += (z[s * m + j] - mean[j]) * (z[s * m + j] - mean[j]);
    return sum / ((double)(n - 1) * (double)(m - 1));
}

arm arm_measure(const double *scores, const double *z, size_t n, size_t m)
{
    arm a = {.n = n, .m = m, .mean = NAN, .s2 = NAN, .df = n ? (double)(n - 1) : 0, .msi = NAN, .widening = 1};
    double sum = 0, squares = 0;
    bool equal = true; /* then neither mean nor variance is rounded */
    for (size_t s = 0; s < n; s++) sum += scores[s], equal = equal && scores[s] == scores[0];
    if (n) a.mean = equal ? scores[0] : sum / (double)n;
    for (size_t s = 0; s < n; s++) squares += (scores[s] - a.mean) * (scores[s] - a.mean);
    if (n > 1) a.s2 = a.expected_s2 = squares / (double)(n - 1);
    if (!n || !m) return a.m = 0, a;
    a.z = xcalloc(m, sizeof *a.z);
    for (size_t s = 0; s < n; s++)
        for (size_t j = 0; j < m; j++) a.z[j] += z[s * m + j] / (double)n;
    a.msi = interaction(z, a.z, n, m);
    return a;
}

void arm_free(arm *a)
{
    free(a->z);
    a->z = NULL;
}

double arm_seed_sd(const arm *a) { return a->m ? sqrt(fmax(0, a->s2 - a->msi / (double)a->m)) : sqrt(a->s2); }

/* ---- two rows ---- */

/* U = max(0, var_j(d_j) - msi1 / n1 - msi0 / n0) / m, d_j the difference of the seed-averaged influence values */
static double sentence_part(const arm *a, const arm *b)
{
    size_t m = a->m;
    double squares = 0;
    if (m < 2 || m != b->m || a->n < 2 || b->n < 2) return 0;
    for (size_t j = 0; j < m; j++) squares += (a->z[j] - b->z[j]) * (a->z[j] - b->z[j]);
    double variance = squares / (double)(m - 1);
    return fmax(0, variance - a->msi / (double)a->n - b->msi / (double)b->n) / (double)m * a->widening;
}

/* Welch's degrees of freedom, at most twice those of the smaller side. */
static double welch_df(double v1, double df1, double v0, double df0)
{
    double most = 2 * fmin(df1, df0), both = v1 + v0;
    return both > 0 ? fmin(most, both * both / (v1 * v1 / df1 + v0 * v0 / df0)) : most;
}

/* The square of t with two degrees of freedom that is exceeded, on one side, with probability q. */
static double t2_squared(double q) { return (1 - 2 * q) * (1 - 2 * q) / (2 * q * (1 - q)); }

double howe_half_width(double v, double df, double u, double choice, double alpha)
{
    double t = t_upper(alpha / 2, df), z = normal_upper(alpha / 2);
    return sqrt((v > 0 ? t * t * v : 0) + z * z * u + t2_squared(alpha / 2) * CHOICE_SHARE * choice);
}

/* Solves d² = t²(p) v + z²(p) u + t2²(p) choice / 2 for p. Along t, from 0 to |d| / sqrt(v), the right side grows:
 * bisection on t. Without variance over seeds there is no choice (choice.h). */
double howe_p(double d, double v, double df, double u, double choice)
{
    d = fabs(d);
    if (isnan(d) || isnan(v) || !(df > 0)) return NAN;
    if (d == 0) return 1;
    if (!(v > 0)) return u > 0 ? 2 * normal_tail(d / sqrt(u)) : 0;
    double low = 0, high = d / sqrt(v);
    if (!(u > 0) && !(choice > 0)) return 2 * t_tail(high, df);
    for (int i = 0; i < 100 && high - low > 1e-13 * high; i++) {
        double t = (low + high) / 2, q = t_tail(t, df), z = normal_upper(q);
        if (t * t * v + z * z * u + (choice > 0 ? t2_squared(q) * CHOICE_SHARE * choice : 0) > d * d)
            high = t;
        else
            low = t;
    }
    return 2 * t_tail((low + high) / 2, df);
}

difference design_compare(const arm *row, const arm *base, double most_df)
{
    difference x = {.d = row->mean - base->mean, .v = NAN, .df = NAN, .low = NAN, .high = NAN, .p = NAN};
    if (row->n < 2 || base->n < 2) return x;
    double v1 = row->s2 / (double)row->n, v0 = base->s2 / (double)base->n;
    x.v = v1 + v0;
    x.df = fmin(welch_df(v1, row->df, v0, base->df), most_df);
    x.u = sentence_part(row, base);
    x.choice = row->choice + base->choice;
    double half = howe_half_width(x.v, x.df, x.u, x.choice, 0.05);
    x.low = x.d - half, x.high = x.d + half;
    x.p = howe_p(x.d, x.v, x.df, x.u, x.choice);
    return x;
}

/* U of a weighted sum: var_j(sum w_i z_ij) minus the rows' interactions. */
static double contrast_sentences(const arm *rows, const double *w, size_t n)
{
    size_t m = rows[0].m;
    double squares = 0, noise = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].m < 2 || rows[i].m != m || rows[i].n < 2) return 0;
        noise += w[i] * w[i] * rows[i].msi / (double)rows[i].n;
    }
    for (size_t j = 0; j < m; j++) {
        double d = 0;
        for (size_t i = 0; i < n; i++) d += w[i] * rows[i].z[j];
        squares += d * d;
    }
    return fmax(0, squares / (double)(m - 1) - noise) / (double)m * rows[0].widening;
}

difference design_contrast(const arm *rows, const double *w, size_t n)
{
    difference x = {.v = NAN, .df = NAN, .low = NAN, .high = NAN, .p = NAN};
    double v = 0, squares = 0, df = 0;
    for (size_t i = 0; i < n; i++) {
        double own = w[i] * w[i] * rows[i].s2 / (double)rows[i].n;
        x.d += w[i] * rows[i].mean;
        v += own, squares += own * own / rows[i].df, df += rows[i].df;
        x.choice += w[i] * w[i] * rows[i].choice;
        if (rows[i].n < 2) v = NAN;
    }
    if (!n || isnan(v)) return x;
    x.v = v, x.df = squares > 0 ? fmin(df, v * v / squares) : df;
    x.u = contrast_sentences(rows, w, n);
    double half = howe_half_width(x.v, x.df, x.u, x.choice, 0.05);
    x.low = x.d - half, x.high = x.d + half;
    x.p = howe_p(x.d, x.v, x.df, x.u, x.choice);
    return x;
}

double margin_p(double inside, double v, double df, double u, double choice)
{
    double p = howe_p(inside, v, df, u, choice) / 2;
    return inside > 0 ? p : 1 - p;
}

/* ---- planning ---- */

static double z_sum(double alpha, double power) { return normal_upper(alpha / 2) + normal_upper(1 - power); }

arm arm_planned(size_t n, double s2) { return (arm){.n = n, .s2 = s2, .df = (double)(n - 1), .expected_s2 = s2}; }

/* A variance estimated from n seeds is s2 e^y with density exp(k/2 (y - e^y)) in y, k = n - 1: smooth and short-tailed,
 * so the trapezoidal rule is exact to many digits with few points, and with half of them for large k. */
enum { POINTS = 32, NEAR_NORMAL = 20 };
typedef struct {
    size_t n;
    double s2[POINTS], weight[POINTS], df; /* s2: variances that the test may estimate */
} estimates;

/* The y of sign `side` at which the log density is 9 below its maximum. */
static double edge(double k, double side)
{
    double low = 0, high = side < 0 ? 18 / k + 2 : sqrt(36 / k) + 3;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2, y = side * middle;
        if (exp(y) - y - 1 < 18 / k)
            low = middle;
        else
            high = middle;
    }
    return side * low;
}

static estimates estimates_of(const arm *a, double most_df)
{
    estimates x = {.df = fmin((double)(a->n - 1) + a->prior_df, most_df)};
    x.n = a->n > NEAR_NORMAL ? POINTS / 2 : POINTS;
    double k = (double)(a->n - 1), low = edge(k, -1), step = (edge(k, 1) - low) / (double)(x.n - 1), sum = 0;
    for (size_t i = 0; i < x.n; i++) {
        double y = low + step * (double)i, own = a->expected_s2 * exp(y);
        sum += x.weight[i] = exp(k / 2 * (y - exp(y) + 1));
        double shrunk = isinf(a->prior_df) ? a->prior_s2
                        : a->prior_df > 0  ? (a->prior_df * a->prior_s2 + k * own) / (a->prior_df + k)
                                           : own;
        x.s2[i] = fmax(own, shrunk);
    }
    for (size_t i = 0; i < x.n; i++) x.weight[i] /= sum;
    return x;
}

/* Half widths of the interval at level 1 - alpha that the test will have, and how likely each is. */
typedef struct {
    size_t n;
    double half[POINTS * POINTS], weight[POINTS * POINTS], sd; /* sd: standard deviation of the difference */
} foreseen;

enum { QUANTILES = 64 }; /* QUANTILES: number of quantiles of t, at 1 / df from 0 to 1, interpolated on the log scale */

/* The quantiles' logarithms, shared by all rows. */
static const double *log_quantiles(double alpha)
{
    static _Thread_local double at = NAN, log_t[QUANTILES + 1];
    if (at == alpha) return log_t;
    log_t[0] = log(normal_upper(alpha / 2));
    for (int i = 1; i <= QUANTILES; i++) log_t[i] = log(t_upper(alpha / 2, (double)QUANTILES / i));
    at = alpha;
    return log_t;
}

static foreseen foresee(const arm *row, const arm *base, double u, double most_df, double alpha)
{
    const double *log_t = log_quantiles(alpha);
    double z = exp(log_t[0]), n1 = (double)row->n, n0 = (double)base->n;
    estimates a = estimates_of(row, most_df), b = estimates_of(base, most_df);
    double choice = row->choice + base->choice, wide = t2_squared(alpha / 2) * CHOICE_SHARE * choice;
    foreseen x = {.sd = sqrt(row->expected_s2 / n1 + base->expected_s2 / n0 + choice + u)};
    for (size_t i = 0; i < a.n; i++)
        for (size_t j = 0; j < b.n; j++) {
            if (a.weight[i] * b.weight[j] < 1e-7) continue;
            double v1 = a.s2[i] / n1, v0 = b.s2[j] / n0, at = QUANTILES / fmin(welch_df(v1, a.df, v0, b.df), most_df);
            int k = at >= QUANTILES ? QUANTILES - 1 : (int)at;
            double t = exp(log_t[k] + (at - k) * (log_t[k + 1] - log_t[k]));
            x.half[x.n] = sqrt(t * t * (v1 + v0) + z * z * u + wide);
            x.weight[x.n++] = a.weight[i] * b.weight[j];
        }
    return x;
}

static double found_by(const foreseen *x, double effect)
{
    double sum = 0;
    for (size_t i = 0; i < x->n; i++)
        sum += x->weight[i] * (normal_tail((x->half[i] - effect) / x->sd) + normal_tail((x->half[i] + effect) / x->sd));
    return sum;
}

double least_detectable(const arm *row, const arm *base, double u, double most_df, double alpha, double power)
{
    if (row->n < 2 || base->n < 2 || !(row->expected_s2 + base->expected_s2 + u > 0)) return NAN;
    foreseen x = foresee(row, base, u, most_df, alpha);
    double near = normal_upper(1 - power) * x.sd, below, above; /* near: the result, if all half widths were equal */
    for (size_t i = 0; i < x.n; i++) near += x.weight[i] * x.half[i];
    double low = 0.98 * near, high = 1.02 * near;
    while ((below = found_by(&x, low) - power) >= 0 && low > 0) low = low > 1e-6 * x.sd ? low / 2 : 0;
    while ((above = found_by(&x, high) - power) < 0 && high < 1e9 * x.sd) low = high, below = above, high *= 2;
    if (below >= 0 || above <= 0) return below >= 0 ? low : high;
    for (int side = 0; high - low > 1e-7 * high;) { /* false position, in the Illinois variant */
        double middle = (low * above - high * below) / (above - below), found = found_by(&x, middle) - power;
        if (fabs(found) < 1e-9) return middle;
        if (found < 0)
            low = middle, below = found, above *= side < 0 ? 0.5 : 1, side = -1;
        else
            high = middle, above = found, below *= side > 0 ? 0.5 : 1, side = 1;
    }
    return (low + high) / 2;
}

double least_detectable_floor(double u, double alpha, double power) { return z_sum(alpha, power) * sqrt(u); }

static double detectable_at(size_t n, double sd1, double sd0, double u, double alpha, double power)
{
    arm row = arm_planned(n, sd1 * sd1), base = arm_planned(n, sd0 * sd0);
    return least_detectable(&row, &base, u, INFINITY, alpha, power);
}

size_t seeds_needed(double wanted, double sd1, double sd0, double u, double alpha, double power)
{
    enum { MOST = 10000 };
    size_t low = 1, high = 2;
    if (!(wanted > least_detectable_floor(u, alpha, power))) return 0;
    while (high <= MOST && detectable_at(high, sd1, sd0, u, alpha, power) > wanted) low = high, high *= 2;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (detectable_at(middle, sd1, sd0, u, alpha, power) > wanted)
            low = middle;
        else
            high = middle;
    }
    return high <= MOST ? high : 0;
}

double power_of(double effect, double sd1, double sd0, size_t n, size_t n0, double u, double alpha)
{
    if (n < 2 || n0 < 2) return 0;
    arm row = arm_planned(n, sd1 * sd1), base = arm_planned(n0, sd0 * sd0);
    foreseen x = foresee(&row, &base, u, INFINITY, alpha);
    return found_by(&x, fabs(effect));
}

/* ---- one seed ---- */

prediction predict_one(const arm *base, double x)
{
    prediction out = {NAN, NAN, NAN, NAN};
    if (base->n < 2) return out;
    double se = sqrt(base->s2 * (1 + 1 / (double)base->n));
    out.df = (double)(base->n - 1);
    out.t = (x - base->mean) / se;
    out.p = 2 * t_tail(fabs(out.t), out.df);
    out.half = t_upper(0.025, out.df) * se;
    return out;
}

/* ---- looks ---- */

const size_t look_seeds[N_LOOKS] = {3, 5, 10, 20};
const double look_weights[N_LOOKS] = {0.05, 0.15, 0.30, 0.50};

double repeated_p(const double *p, size_t looks)
{
    double least = 1;
    for (size_t k = 0; k < looks && k < N_LOOKS; k++)
        if (p[k] / look_weights[k] < least) least = p[k] / look_weights[k];
    return least;
}
