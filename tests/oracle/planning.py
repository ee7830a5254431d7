#!/usr/bin/env python3
"""Golden numbers of planning (tests/unit/statistics/statistics_worked.h): least detectable differences and seeds needed.

usage: planning.py      (numpy, scipy)

The power of the test is a double integral over the two estimated variances, here over scipy's chi-square quantiles at
Gauss-Legendre points in probability, a different rule than the program's.
"""
import math

import numpy as np
from scipy import optimize, stats

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(200)
POINTS, WEIGHTS = (POINTS + 1) / 2, WEIGHTS / 2


def used(s2, n, prior_df, prior_s2):
    """The variance estimates that the test uses, at the quadrature points, and their degrees of freedom."""
    own = s2 * stats.chi2.ppf(POINTS, n - 1) / (n - 1)
    if math.isinf(prior_df):
        return np.maximum(own, prior_s2)
    return np.maximum(own, (prior_df * prior_s2 + (n - 1) * own) / (prior_df + n - 1))


def least_detectable(s1, s0, n1, n0, u, alpha, power, prior_df=0, most_df=math.inf):
    v1 = used(s1**2, n1, prior_df, s1**2)[:, None] / n1
    v0 = used(s0**2, n0, 0, 1)[None, :] / n0
    df1, df0 = min(n1 - 1 + prior_df, most_df), n0 - 1
    df = np.minimum((v1 + v0) ** 2 / (v1**2 / df1 + v0**2 / df0), min(2 * min(df1, df0), most_df))
    half = np.sqrt(stats.t.isf(alpha / 2, df) ** 2 * (v1 + v0) + stats.norm.isf(alpha / 2) ** 2 * u)
    sd = math.sqrt(s1**2 / n1 + s0**2 / n0 + u)

    def found(effect):
        p = stats.norm.sf((half - effect) / sd) + stats.norm.sf((half + effect) / sd)
        return WEIGHTS @ p @ WEIGHTS

    return optimize.brentq(lambda x: found(x) - power, 0, 1000 * sd, xtol=1e-10)


def seeds_needed(wanted, s1, s0, u):
    if wanted <= (stats.norm.isf(0.025) + stats.norm.isf(0.2)) * math.sqrt(u):
        return 0
    return next(n for n in range(2, 10000) if least_detectable(s1, s0, n, n, u, 0.05, 0.8) <= wanted)


for s1, s0, n1, n0, u, alpha, prior_df, most_df in (
    (0.5, 0.5, 2, 2, 0, 0.05, 0, math.inf),
    (0.5, 0.5, 3, 3, 0, 0.05, 0, math.inf),
    (0.5, 0.5, 5, 5, 0, 0.05, 0, math.inf),
    (0.5, 0.5, 5, 5, 0.016, 0.05, 0, math.inf),
    (0.5, 0.5, 10, 10, 0.016, 0.05, 0, math.inf),
    (0.8, 0.4, 5, 10, 0.016, 0.05, 0, math.inf),
    (0.5, 0.5, 10, 10, 0.016, 0.0025, 0, math.inf),
    (0.5, 0.5, 3, 3, 0.016, 0.05, math.inf, 40),
    (0.5, 0.4, 3, 10, 0.016, 0.05, 6.5, 40),
):
    most, prior = ("INFINITY" if math.isinf(x) else f"{x:g}" for x in (most_df, prior_df))
    x = least_detectable(s1, s0, n1, n0, u, alpha, 0.8, prior_df, most_df)
    floor = (stats.norm.isf(alpha / 2) + stats.norm.isf(0.2)) * math.sqrt(u)
    print(f"    {{{s1}, {s0}, {n1}, {n0}, {u}, {alpha}, 0.8, {prior}, {most}, {x:.9g}, {floor:.9g}}},")
for s in ((1, 0.5, 0.5, 0), (1, 0.5, 0.5, 0.016), (0.5, 0.5, 0.5, 0.016), (0.5, 0.3, 0.3, 0.016), (0.3, 0.5, 0.5, 0.016), (1, 0.5, 0.5, 0.064)):
    print(f"    {{{s[0]}, {s[1]}, {s[2]}, {s[3]}, {seeds_needed(*s)}}},")
