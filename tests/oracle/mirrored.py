#!/usr/bin/env python3
"""mirrored.py RESULTS.DB - for grokking.ini: of the test pairs a + b whose mirror image b + a was in training, how many
each run solved, and how many of the other pairs. Draws the pairs again (plugins/tasks/arithmetic.c) and reads the
statistics per example (core/lab/results/stats.c)."""
import sqlite3
import sys

MODULUS, PART, TEST = 113, 0.3, 4000
WORD = (1 << 64) - 1


def draw(state):  # splitmix64
    state[0] = (state[0] + 0x9E3779B97F4A7C15) & WORD
    z = state[0]
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def mirrored(seed):
    n, state = MODULUS * MODULUS, [seed * 1000]
    pairs = list(range(n))
    for i in range(n - 1, 0, -1):
        j = draw(state) % (i + 1)
        pairs[i], pairs[j] = pairs[j], pairs[i]
    train = int(n * PART + 0.5)
    seen = set(pairs[:train])
    return [(x % MODULUS) * MODULUS + x // MODULUS in seen for x in pairs[train + TEST : train + 2 * TEST]]


db = sqlite3.connect(sys.argv[1])
runs = db.execute(
    """SELECT variant.name, run.seed, result.stats FROM result JOIN metric ON metric.id = metric_id JOIN run ON run.id = run_id
       JOIN variant ON variant.id = variant_id JOIN experiment ON experiment.id = experiment_id
       WHERE metric.name = 'solved' AND experiment.name = 'grokking' ORDER BY variant.place, seed"""
)
print("row, seed: mirrored pairs solved, of; other pairs solved, of")
for row, seed, stats in runs:
    solved = stats[13 : 13 + TEST]  # a column of bytes: 2 (one, as a zigzag varint) or 0
    m = mirrored(seed)
    a = sum(1 for s, x in zip(solved, m) if s and x)
    b = sum(1 for s, x in zip(solved, m) if s and not x)
    print(f"{row}, {seed}: {a}, {sum(m)}; {b}, {TEST - sum(m)}")
