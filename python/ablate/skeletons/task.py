"""Sorting digits: a starting point."""

import random

import ablate as ab


@ab.task(doc="what it is, in one line", paper="who, when, section", length=ab.integer(8, 1, 64, "longest example [tokens]"))
class NAME:
    @staticmethod
    def examples(split, seed, length):  # split: train, dev or test; yields pairs of source and target
        chance = random.Random(f"{seed} {split}")
        for _ in range({"train": 1000, "dev": 100, "test": 100}[split]):
            digits = [chance.choice("0123456789") for _ in range(chance.randint(1, length))]
            yield digits, sorted(digits)

    @staticmethod
    def score(outputs, references, length):  # lines of tokens -> for each metric a number per example, 0 to 1
        return {"acc": [output == reference for output, reference in zip(outputs, references)]}
