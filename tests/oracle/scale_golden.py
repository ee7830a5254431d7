"""scale_golden.py - the numbers of test_design.c's check_scale_difference: least squares of the difference of two designs
over the logarithm of the size, with each size's own variances, by numpy and scipy."""
import numpy as np
from scipy import stats

sizes = np.array([1e4, 3e4, 1e5, 3e5, 1e6])
a = np.log([[3.10, 3.14], [2.61, 2.57], [2.05, 2.09], [1.66, 1.68], [1.30, 1.28]])
b = np.log([[3.02, 3.06], [2.58, 2.56], [2.07, 2.05], [1.70, 1.69], [1.37, 1.35]])
d = b.mean(1) - a.mean(1)
va, vb = a.var(1, ddof=1) / 2, b.var(1, ddof=1) / 2
v = va + vb
df = np.minimum(2, v ** 2 / (va ** 2 + vb ** 2))  # Welch's, at most twice those of a side
x = np.log(sizes)


def satterthwaite(parts, n):
    return parts.sum() ** 2 / (parts ** 2 / df[:n]).sum()


def line(n):
    X = np.stack([np.ones(n), x[:n]], 1)
    hat = np.linalg.inv(X.T @ X) @ X.T
    beta = hat @ d[:n]
    chance = (1 - np.diag(X @ hat)) * v[:n]
    misfit = ((d[:n] - X @ beta) ** 2).sum() / chance.sum()
    factor = misfit ** 0.5 if stats.f.sf(misfit, n - 2, satterthwaite(chance, n)) < 0.2 else 1
    return beta, hat, factor


def half(weights, n, factor, more=0):
    parts = weights ** 2 * v[: len(weights)]
    f = satterthwaite(parts, len(weights))
    f = min(f, n - 2) if factor > 1 else f
    return stats.t.ppf(0.975, f) * (factor ** 2 * parts.sum() + more) ** 0.5, parts.sum() ** 0.5, f


def expected(n, at, with_runs):
    beta, hat, factor = line(n)
    weights = np.array([1, at]) @ hat
    if with_runs:
        weights = np.append(weights, 1 / factor)
    width = half(weights, n, factor, (factor ** 2 - 1) * v[:n].mean())[0]
    centre = np.array([1, at]) @ beta
    return centre, centre - width, centre + width


beta, hat, factor = line(5)
width, error, f = half(hat[1], 5, factor)
print("d", d, "half", stats.t.ppf(0.975, df) * v ** 0.5)
print("slope", repr(beta[1]), repr(width), "p", repr(2 * stats.t.sf(abs(beta[1]) / factor / error, f)))
print("next", *map(repr, expected(5, x[-1] + np.log(4), False)))
print("check", *map(repr, expected(4, x[-1], True)))
print("turns", repr(np.exp(-beta[0] / beta[1])))
