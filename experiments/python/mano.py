"""Mano: the value modulo 23 of an expression in prefix notation, at its last token."""

import random

import ablate as ab


def expression(chance, operations):
    """Return the tokens of an expression and its value."""
    if not operations:
        n = chance.randrange(23)
        return [str(n)], n
    left = chance.randrange(operations)
    (a, x), (b, y) = expression(chance, left), expression(chance, operations - 1 - left)
    sign = chance.choice("+-*")
    return [sign, *a, *b], {"+": x + y, "-": x - y, "*": x * y}[sign] % 23


@ab.task(doc="arithmetic modulo 23 in prefix notation", decoder_only=True,
         paper="Allen-Zhu 2025 (Physics of Language Models 4.1), Mano",
         operations=ab.integer(4, 1, 24, "most operations of an expression [operations]"))
class mano:
    @staticmethod
    def examples(split, seed, operations):
        chance = random.Random(f"{seed} {split}")
        for _ in range({"train": 20000, "dev": 200, "test": 200}[split]):
            tokens, value = expression(chance, chance.randint(1, operations))
            yield tokens, ["_"] * (len(tokens) - 1) + [f"={value}"]
