"""Rank correlation (Spearman's) of each task of screen with the language models of screen-lm, over token mixers, with
its 95 % interval: percentiles of 10,000 bootstrap samples of mixers and of each mixer's seeds."""

import random
from pathlib import Path

import ablate as ab

METRICS = {"recall": "accuracy", "words": "acc", "treecall": "acc", "lm": "bits_per_char"}


def mean(values):
    return sum(values) / len(values)


def ranks(values):
    return [sum(w < v for w in values) + (values.count(v) - 1) / 2 for v in values]


def correlation(a, b):
    a, b = ranks(a), ranks(b)
    a, b = [x - mean(a) for x in a], [y - mean(b) for y in b]
    spread = sum(x * x for x in a) * sum(y * y for y in b)
    return sum(x * y for x, y in zip(a, b)) / spread**0.5 if spread else float("nan")


values = {task: {} for task in METRICS}  # lists by task and mixer, a number for each seed
for run in [*ab.runs("screen"), *ab.runs("screen-lm")]:
    task = Path(run["task"]).stem
    if run["status"] == "done":
        values[task].setdefault(run["attention"], []).append(run[METRICS[task]])
mixers, chance = sorted(values["lm"]), random.Random(1)
for task in list(METRICS)[:-1]:
    small, large = values[task], values["lm"]
    found = correlation([mean(small[m]) for m in mixers], [-mean(large[m]) for m in mixers])
    samples = []
    for _ in range(10000):
        drawn = chance.choices(mixers, k=len(mixers))
        one = [mean(chance.choices(small[m], k=len(small[m]))) for m in drawn]
        other = [-mean(chance.choices(large[m], k=len(large[m]))) for m in drawn]
        samples.append(correlation(one, other))
    samples = sorted(s for s in samples if s == s)
    if not samples:
        print(f"{task:9s} no rank: all mixers have one value")
        continue
    low, high = samples[len(samples) // 40], samples[-len(samples) // 40]
    print(f"{task:9s} {found:+.2f}, 95 % interval {low:+.2f} to {high:+.2f}, {len(mixers)} mixers")
