"""Parity of all bits so far, at every position: a state that attention cannot keep for long sequences."""

import random

import ablate as ab


@ab.task(doc="the parity of the bits so far", paper="Hahn 2020, section 5", decoder_only=True,
         length=ab.integer(16, 2, 512, "bits of a training example [tokens]"),
         test_length=ab.integer(32, 2, 4096, "bits of a test example [tokens]"))
class parity:
    @staticmethod
    def examples(split, seed, length, test_length):
        chance = random.Random(f"{seed} {split}")
        for _ in range({"train": 20000, "dev": 200, "test": 200}[split]):
            bits = [chance.randint(0, 1) for _ in range(test_length if split == "test" else length)]
            yield bits, [("even", "odd")[sum(bits[: i + 1]) % 2] for i in range(len(bits))]
