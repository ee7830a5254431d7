"""The word problem of a group: the product of the permutations so far, at every position. S5 and A5 need depth or state."""

import itertools
import random

import ablate as ab


def even(p):
    return sum(p[i] > p[j] for i in range(len(p)) for j in range(i + 1, len(p))) % 2 == 0


@ab.task(doc="products in the permutation groups A5 and S5", paper="Liu et al. 2023; Merrill et al. 2024, section 5",
         decoder_only=True, group=ab.choice("A5", ["A5", "S5"], "the group"),
         length=ab.integer(12, 2, 512, "factors of a training example [tokens]"),
         test_length=ab.integer(24, 2, 4096, "factors of a test example [tokens]"))
class words:
    @staticmethod
    def examples(split, seed, group, length, test_length):
        chance = random.Random(f"{seed} {split} {group}")
        elements = [p for p in itertools.permutations(range(5)) if group == "S5" or even(p)]
        for _ in range({"train": 20000, "dev": 200, "test": 200}[split]):
            product, source, target = tuple(range(5)), [], []
            for _ in range(test_length if split == "test" else length):
                factor = chance.choice(elements)
                product = tuple(factor[i] for i in product)
                source.append("".join(map(str, factor)))
                target.append("=" + "".join(map(str, product)))
            yield source, target
