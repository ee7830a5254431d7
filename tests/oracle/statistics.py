#!/usr/bin/env python3
"""Writes tests/unit/statistics/statistics_scipy.tsv: scipy's and statsmodels' opinion on the statistics of core/.

usage: statistics.py > ../unit/statistics/statistics_scipy.tsv      (scipy, statsmodels)

One line per number: the function, its arguments, the value, all in full precision. Lists are written with commas.
"""
import itertools

import numpy as np
from scipy import integrate, optimize, special, stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.weightstats import ttost_ind


def text(x):
    return ",".join(repr(float(v)) for v in x) if np.ndim(x) else repr(float(x))


def line(name, *values):
    print(name, *[text(v) for v in values], sep="\t")


def distributions():
    for z in (-3, -0.5, 0, 0.1, 1, 1.96, 5, 10, 30):
        line("normal_tail", z, stats.norm.sf(z))
    for p in (0.9, 0.5, 0.3, 0.025, 1e-3, 1e-8, 1e-30, 1e-200):
        line("normal_upper", p, stats.norm.isf(p))
    for df in (1, 1.37, 2, 2.6, 4, 7.3, 18, 100.5, 5000):
        for t in (-2, 0, 1e-4, 0.7, 2.5, 9, 60):
            line("t_tail", t, df, stats.t.sf(t, df))
        for p in (0.8, 0.5, 0.2, 0.025, 0.00125, 1e-7):
            line("t_upper", p, df, stats.t.isf(p, df))
    for f, a, b in itertools.product((0, 0.3, 1, 4, 25), (1, 2, 4, 10.5), (2, 20, 28.5)):
        line("f_tail", f, a, b, stats.f.sf(f, a, b))
    for x in (0.01, 0.5, 1, 2.5, 19.9, 20.1, 500):
        line("digamma", x, special.digamma(x))
        line("trigamma", x, special.polygamma(1, x))


def samples(rng):
    for n, m, shift in ((2, 2, 0.3), (3, 3, 1), (3, 5, 0.2), (5, 5, 2), (6, 4, 0), (10, 10, 0.7)):
        a, b = np.round(rng.normal(shift, 1, n), 4), np.round(rng.normal(0, 0.5, m), 4)
        t = stats.ttest_ind(a, b, equal_var=False)
        line("welch", a, b, t.df, t.pvalue)
        for margin in (0.5, 2.0):
            line("equivalence", a, b, margin, ttost_ind(a, b, -margin, margin, usevar="unequal")[0])
        exact = stats.permutation_test((a, b), lambda x, y: np.mean(x) - np.mean(y), n_resamples=np.inf)
        far = np.abs(exact.null_distribution) >= abs(exact.statistic) - 1e-9  # scipy's own p doubles the smaller tail
        line("permutation", a, b, far.mean())


def holm(rng):
    for n in (1, 2, 7, 20):
        p = np.round(rng.uniform(0, 0.2, n), 5)
        line("holm", p, multipletests(p, method="holm")[1])


def interaction(rng):
    """Mean squares of a two-way layout without replication: the residual is the interaction of seeds and sentences."""
    for n, m in ((2, 3), (3, 7), (5, 4)):
        z = np.round(rng.normal(0, 1, (n, m)), 4)
        z[:, -1] = np.round(z[:, -1] - z.sum(1), 4)  # the influence values of a seed sum to 0
        table = {"z": z.ravel(), "seed": np.repeat(np.arange(n), m), "sentence": np.tile(np.arange(m), n)}
        rows = anova_lm(ols("z ~ C(seed) + C(sentence)", table).fit())
        line("interaction", n, m, z.ravel(), rows["mean_sq"]["Residual"])


def power():
    """Exact power of the t test with equal variances, by the noncentral t distribution."""
    for n, effect in ((5, 1), (5, 2), (6, 2), (10, 1), (10, 1.5), (20, 0.5), (20, 1)):
        line("power", n, effect, TTestIndPower().power(effect, n, 0.05))


def choice():
    """The variance that arises if each candidate is measured once more and the best one is chosen; Howe's p with this
    variance as an additional part."""
    for behind, sd in (([0, 0.4], 1), ([0, 0.5, 0.9], 0.7), ([0.2, 0, 1, 3], 1.1), ([0, 5, 0.1], 0.5), ([2, 0, 2.5, 1.5, 4], 1)):
        x, p = np.array(behind, float), []
        for k in range(len(x)):
            def density(e):
                others = [stats.norm.sf((x[k] - x[j]) / sd + e) for j in range(len(x)) if j != k]
                return stats.norm.pdf(e) * np.prod(others)
            p.append(integrate.quad(density, -12, 12, epsabs=1e-14, epsrel=1e-13, limit=400)[0])
        mean = np.dot(p, x)
        line("choice", x, sd, np.dot(p, (x - mean) ** 2))
    for d, v, df, u, c in ((2, 0.3, 4, 0.1, 0.2), (1, 0.3, 6.5, 0, 0.05), (-3, 0.02, 30, 0.5, 1), (0.1, 0.3, 4, 0.1, 0.2)):
        def excess(log_p):
            q = np.exp(log_p) / 2
            return stats.t.isf(q, df) ** 2 * v + stats.norm.isf(q) ** 2 * u + stats.t.isf(q, 2) ** 2 * c / 2 - d * d
        line("howe", d, v, df, u, c, np.exp(optimize.brentq(excess, np.log(1e-12), -1e-12, xtol=1e-14)))


if __name__ == "__main__":
    rng = np.random.default_rng(20251122)
    distributions()
    samples(rng)
    holm(rng)
    interaction(rng)
    power()
    choice()
