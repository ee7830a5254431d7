"""Associative treecall: a sentence of a grammar that the run draws, with the head of each phrase last, and one of its
words; the answer is the head of the next larger phrase, which need not stand near."""

import random

import ablate as ab

WORDS = 64  # of each kind of phrase


def phrase(chance, rules, kind, depth, sentence, heads):
    """Append a phrase to the sentence, record the head above each inner phrase's head, and return its own head."""
    kinds = chance.choice(rules[kind]) if depth > 1 else []
    inner = [phrase(chance, rules, k, depth - 1, sentence, heads) for k in kinds]
    head = chance.choice([w for w in (f"{kind}.{i}" for i in range(WORDS)) if w not in sentence])
    sentence.append(head)
    heads.update(dict.fromkeys(inner, head))
    return head


@ab.task(doc="the head of a word's phrase in a sentence of an unknown grammar", decoder_only=True,
         paper="Arora et al. 2025, arXiv 2505.15105 (Associative Treecall)",
         kinds=ab.integer(6, 2, 32, "kinds of phrases in the grammar [kinds]"),
         depth=ab.integer(3, 2, 4, "deepest nesting of phrases [phrases]"))
class treecall:
    @staticmethod
    def examples(split, seed, kinds, depth):
        chance = random.Random(f"{seed} grammar")
        rules = [[chance.choices(range(kinds), k=chance.randint(2, 3)) for _ in range(3)] for _ in range(kinds)]
        chance = random.Random(f"{seed} {split}")
        for _ in range({"train": 20000, "dev": 200, "test": 200}[split]):
            sentence, heads = [], {}
            phrase(chance, rules, 0, depth, sentence, heads)
            word = chance.choice(sorted(heads))
            yield [*sentence, "?", word], ["_"] * (len(sentence) + 1) + [heads[word]]
