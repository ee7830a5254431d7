/* distribution.h - tails and quantiles of the normal, t and F distributions, digamma and trigamma.
 *
 * Tails are computed directly, not as 1 - cdf, so that small probabilities keep their digits. Degrees of freedom may be
 * fractions, as in Welch's test; t with infinite df is the normal distribution. Arguments outside a function's domain
 * give NaN.
 */
#ifndef ABLATE_METRIC_DISTRIBUTION_H
#define ABLATE_METRIC_DISTRIBUTION_H

double normal_tail(double z);                    /* P(Z > z) */
double normal_upper(double p);                   /* z with P(Z > z) = p */
double t_tail(double t, double df);              /* P(T > t) */
double t_upper(double p, double df);             /* t with P(T > t) = p */
double f_tail(double f, double df1, double df2); /* P(F > f), f >= 0 */
double digamma(double x);                        /* x > 0 */
double trigamma(double x);                       /* x > 0 */
double trigamma_inverse(double y);               /* x with trigamma(x) = y > 0 */
#endif
