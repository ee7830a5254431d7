"""scale_golden.py - the numbers of test_design.c's check_scale_difference: weighted least squares of the difference of
two designs over the logarithm of the size, by numpy and scipy."""
import numpy as np
from scipy import stats

sizes = np.array([1e4, 3e4, 1e5, 3e5, 1e6])
a = np.log([[3.10, 3.14], [2.61, 2.57], [2.05, 2.09], [1.66, 1.68], [1.30, 1.28]])
b = np.log([[3.02, 3.06], [2.58, 2.56], [2.07, 2.05], [1.70, 1.69], [1.37, 1.35]])
d = b.mean(1) - a.mean(1)
df = 2 * len(sizes) * (a.shape[1] - 1)
squares = ((a - a.mean(1, keepdims=True)) ** 2).sum() + ((b - b.mean(1, keepdims=True)) ** 2).sum()
v = (1 / 2 + 1 / 2) * squares / df
x = np.log(sizes)


def line(n):
    X = np.stack([np.ones(n), x[:n]], 1)
    cov = np.linalg.inv(X.T @ X) * v
    beta = np.linalg.lstsq(X, d[:n], rcond=None)[0]
    misfit = ((d[:n] - X @ beta) ** 2).sum() / v / (n - 2)
    factor = max(1, misfit) ** 0.5
    t = stats.t.ppf(0.975, n - 2 if factor > 1 else df)
    return beta, cov, factor, t


def expected(n, at, own):
    beta, cov, factor, t = line(n)
    row = np.array([1, at])
    half = t * np.sqrt(factor ** 2 * row @ cov @ row + (factor ** 2 - 1) * v + own)
    return row @ beta, row @ beta - half, row @ beta + half


beta, cov, factor, t = line(5)
print("d", d, "half", stats.t.ppf(0.975, df) * v ** 0.5)
print("slope", beta[1], t * factor * cov[1, 1] ** 0.5, "p", 2 * stats.t.sf(abs(beta[1]) / factor / cov[1, 1] ** 0.5, 3 if factor > 1 else df))
print("next", expected(5, x[-1] + np.log(4), 0))
print("check", expected(4, x[-1], v))
print("turns", np.exp(-beta[0] / beta[1]))
