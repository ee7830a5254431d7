#include "lab/statistics/variances.h"
#include "base/distribution.h"
#include "base/cleanup.h"
#include <math.h>

static const double outlier_level = 0.001;

/* Excludes the largest variance from sharing while an F test against the pool of the others is significant. */
static void find_outliers(const double *s2, const double *df, size_t n, bool *shares)
{
    for (;;) {
        size_t largest = n, left = 0;
        double squares = 0, pool = 0;
        for (size_t i = 0; i < n; i++) {
            if (!shares[i]) continue;
            if (largest == n || s2[i] > s2[largest]) largest = i;
            squares += df[i] * s2[i], pool += df[i], left++;
        }
        if (left < 3) return;
        squares -= df[largest] * s2[largest], pool -= df[largest];
        if (f_tail(s2[largest] / (squares / pool), df[largest], pool) >= outlier_level) return;
        shares[largest] = false;
    }
}

/* Moments of e_i = log s2_i - digamma(df_i / 2) + log(df_i / 2), whose variance is trigamma(df_i / 2) + trigamma(d0 /
 * 2) (Smyth 2004, section 6.2). */
static shared_prior estimate(const double *s2, const double *df, size_t n, const bool *shares)
{
    shared_prior prior = {.prior_df = INFINITY};
    AUTOFREE double *e = xcalloc(n + 1, sizeof *e);
    double mean = 0, squares = 0, chance = 0, k = 0;
    for (size_t i = 0; i < n; i++) {
        if (!shares[i]) continue;
        e[i] = log(s2[i]) - digamma(df[i] / 2) + log(df[i] / 2);
        mean += e[i], chance += trigamma(df[i] / 2), k++;
        prior.pool_df += df[i];
    }
    mean /= k, chance /= k;
    for (size_t i = 0; i < n; i++) squares += shares[i] ? (e[i] - mean) * (e[i] - mean) : 0;
    prior.spread = squares / (k - 1) - chance;
    if (prior.spread > 0) {
        double d0 = 2 * trigamma_inverse(prior.spread);
        prior.prior_df = d0;
        prior.prior_s2 = exp(mean + digamma(d0 / 2) - log(d0 / 2));
    } else {
        prior.prior_s2 = exp(mean);
    }
    return prior;
}

shared_prior calibrated_prior(shared_prior p, double df, size_t n_base)
{
    double few = (double)n_base > df + 1 ? sqrt(log((double)n_base / (df + 1))) : 0;
    double chance = trigamma(df / 2), steep = pow(chance / trigamma(2), 0.3);
    double unsure = p.spread > 0 ? few * chance * steep * sqrt(p.spread) : 0;
    p.prior_s2 *= exp(0.75 * unsure), p.prior_df *= exp(-0.2 * unsure);
    return p;
}

shared_prior share_variances(double *s2, double *df, size_t n, size_t n_base, double *moderated, bool *outlier)
{
    AUTOFREE bool *shares = xcalloc(n + 1, sizeof *shares);
    size_t left = 0;
    for (size_t i = 0; i < n; i++) shares[i] = s2[i] > 0 && df[i] > 0;
    find_outliers(s2, df, n, shares);
    for (size_t i = 0; i < n; i++) left += shares[i];
    shared_prior prior = {.spread = NAN, .prior_df = 0, .prior_s2 = NAN, .pool_df = INFINITY};
    if (left >= 2) prior = estimate(s2, df, n, shares);
    for (size_t i = 0; i < n; i++) {
        double squeezed = s2[i];
        if (outlier) outlier[i] = s2[i] > 0 && df[i] > 0 && !shares[i];
        if (shares[i] && left >= 2) {
            shared_prior own = calibrated_prior(prior, df[i], n_base);
            double d0 = own.prior_df;
            squeezed = isinf(d0) ? own.prior_s2 : (d0 * own.prior_s2 + df[i] * s2[i]) / (d0 + df[i]);
            df[i] = fmin(df[i] + d0, prior.pool_df);
        }
        if (moderated) moderated[i] = squeezed;
        s2[i] = fmax(s2[i], squeezed);
    }
    return prior;
}
