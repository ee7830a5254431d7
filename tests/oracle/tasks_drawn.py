"""The rules of the tasks that draw their examples: arithmetic, recall, sequence.

Sources: Power et al. 2022 (modular arithmetic), Arora et al. 2023 (mqar), Dao et al. 2022 (induction), Poli et al. 2024
(the other kinds of recall), and docs/language-models.md and docs/ini.md for what the papers leave open. Each rule reads
what the program drew, never an answer, and computes the example; each check reads all examples of a case.
"""
from collections import Counter
from math import sqrt

NONE = "_"


def near(found, share, n, what):
    """Is a share of n draws within five standard deviations of its expected value?"""
    assert abs(found / n - share) <= 5 * sqrt(share * (1 - share) / n), (what, found / n, share, n)


def numbers(line):
    return [int(w) for w in line.split()]


def labelled(inputs, labels):
    """labels: {position: answer}."""
    return " ".join(map(str, inputs)), " ".join(str(labels.get(i, NONE)) for i in range(len(inputs)))


# ---- arithmetic ----

def modular(operation, p):
    def rule(part, src):
        a, b, equals = src.split()
        a, b = int(a), int(b)
        assert equals == "=" and 0 <= a < p and 0 <= b < p
        answer = {"add": (a + b) % p, "subtract": (a - b) % p, "multiply": a * b % p,
                  "divide": a * pow(b, -1, p) % p if b and operation == "divide" else None}[operation]
        return labelled([a, b, "="], {2: answer})

    def check(parts):
        """All pairs, each once; training has the share that was asked for."""
        seen = [src for part in ("train", "dev", "test") for src, _ in parts[part]]
        pairs = p * (p - 1) if operation == "divide" else p * p
        assert len(set(seen)) == len(seen) <= pairs
        assert len(parts["train"]) == round(0.3 * pairs), len(parts["train"])
    return rule, check


def addition(digits, backwards):
    def rule(part, src):
        words = src.split()[:2 * digits + 2]
        a, b = int("".join(words[:digits])), int("".join(words[digits + 1:2 * digits + 1]))
        assert words[digits] == "+" and words[-1] == "="
        total = list(f"{a + b:0{digits + 1}}")
        total = total[::-1] if backwards else total
        return labelled(words + total[:-1], {2 * digits + 1 + i: d for i, d in enumerate(total)})

    def check(parts):
        """Numbers of dev and test are uniform; of training, half have both numbers below 10^n, n uniform."""
        short = {part: sum(src.split()[0] == "0" and src.split()[digits + 1] == "0" for src, _ in lines)
                 for part, lines in parts.items()}
        n = {part: len(lines) for part, lines in parts.items()}
        near(short["dev"] + short["test"], 0.01, n["dev"] + n["test"], "short sums of dev and test")
        near(short["train"], 0.5 * 0.01 + 0.5 * mean_short(digits), n["train"], "short sums of training")
    return rule, check


def mean_short(digits):
    """Probability that both numbers, uniform below 10^n with n uniform in 1 .. digits, begin with 0."""
    return sum(1 if n < digits else 0.01 for n in range(1, digits + 1)) / digits


# ---- recall ----

def mqar(vocab, pairs, random_filler=False, power=0.01):
    def rule(part, src):
        s = numbers(src)
        keys, values = s[0:2 * pairs:2], s[1:2 * pairs:2]
        assert len(set(keys)) == pairs == len(set(values)), s
        assert all(0 < k < vocab // 2 for k in keys) and all(vocab // 2 <= v < vocab for v in values), s
        value = dict(zip(keys, values))
        asked = [i for i in range(2 * pairs, len(s)) if s[i] in value]
        assert sorted(s[i] for i in asked) == sorted(keys) and all(i % 2 == 0 for i in asked), s
        assert random_filler or all(x == 0 for i, x in enumerate(s) if i >= 2 * pairs and i not in asked), s
        return labelled(s, {i: value[s[i]] for i in asked})

    def check(parts):
        """With one pair its query stands at place i = 1, 2, ... with weight i^(power - 1)."""
        lines = [tgt.split() for part in parts.values() for _, tgt in part]
        if pairs > 1:
            return
        places = (len(lines[0]) - 2) // 2
        weight = [i ** (power - 1) for i in range(1, places + 1)]
        found = Counter(next(i for i, w in enumerate(line) if w != NONE) for line in lines)
        for i in range(places):
            near(found[2 + 2 * i], weight[i] / sum(weight), len(lines), f"queries at place {i + 1}")
    return rule, check


def induction(vocab):
    def rule(part, src):
        s, special = numbers(src), vocab - 1
        assert s[-1] == special and s.count(special) == 2 and all(0 <= x < vocab for x in s), s
        return labelled(s, {len(s) - 1: s[s.index(special) + 1]})
    return rule, None


def copying(vocab, copies, selective):
    """Symbols, a go symbol, and as many blanks, at which the symbols are asked in order."""
    blank, go = vocab - 2, vocab - 1

    def rule(part, src):
        s = numbers(src)
        at = s.index(go)
        shown = [x for x in s[:at] if x != blank]
        assert len(shown) == copies and all(0 <= x < blank for x in shown) and s[at + 1:] == [blank] * copies, s
        assert selective or at == copies, s
        return labelled(s, {at + 1 + i: x for i, x in enumerate(shown)})
    return rule, None


def next_symbols(s, labels):
    """MAD's training target: each next symbol; labels: what follows the end."""
    return {**{i: x for i, x in enumerate(s[1:])}, **{i: x for i, x in labels.items() if i == len(s) - 1}}


def noisy(vocab, noise_vocab, noise, everything=False):
    kinds = vocab - noise_vocab

    def rule(part, src):
        s, value, labels = numbers(src), {}, {}
        for i in range(0, len(s), 2):
            k, v = s[i:i + 2]
            if k >= kinds:
                assert kinds <= v < vocab, s
                continue
            assert k < kinds // 2 <= v < kinds and value.get(k, v) == v, s
            if k in value:
                labels[i] = value[k]
            value[k] = v
        assert len(s) - 2 in labels, s  # the last pair asks
        return labelled(s, next_symbols(s, labels) if everything and part == "train" else labels)

    def check(parts):
        pairs = [src.split()[i] for part in parts.values() for src, _ in part for i in range(0, len(src.split()) - 2, 2)]
        if noise:  # two pairs of each example are never noise, one of them the last, which is not among pairs
            of = len(numbers(parts["train"][0][0])) // 2
            near(sum(int(k) >= kinds for k in pairs), noise * (of - 2) / (of - 1), len(pairs), "noise")
        else:
            assert all(int(k) < kinds for k in pairs)
    return rule, check


def fuzzy(vocab, motif, everything=False):
    pad, middle = vocab - 1, (vocab - 1) // 2

    def runs(s):
        """The motifs in order: maximal runs of key symbols, and of value symbols."""
        out = []
        for x in s:
            if out and (out[-1][-1] < middle) == (x < middle):
                out[-1].append(x)
            else:
                out.append([x])
        return [tuple(r) for r in out]

    def rule(part, src):
        s = numbers(src)
        start = next(i for i, x in enumerate(s) if x != pad)
        assert pad not in s[start:], s
        motifs = runs(s[start:])
        assert motifs[0][0] < middle and all(1 <= len(m) <= motif for m in motifs), s
        keys, values = motifs[0::2], motifs[1::2]
        known, labels, at = {}, {}, start
        for k, v in zip(keys, values + [()]):  # behind the last key stands its value without the last symbol
            assert part == "train" or len(k) == motif, s
            at += len(k)
            if k in known:
                assert known[k][:len(v)] == v and (len(v) == len(known[k]) or at + len(v) == len(s)), s
                labels.update({at - 1 + i: x for i, x in enumerate(known[k])})
            at += len(v)
            known.setdefault(k, v)
        assert len(s) - 1 in labels and at == len(s), s  # the last pair asks
        return labelled(s, next_symbols(s, labels) if everything and part == "train" else labels)
    return rule, None


def memorisation(vocab):
    half, query = (vocab - 1) // 2, vocab - 1
    facts = {}

    def learn(lines):
        """The facts are drawn, so they are read from the training part."""
        for src, tgt in lines:
            for k, v in zip(src.split()[0::2], tgt.split()[1::2]):
                assert facts.setdefault(k, v) == v, (k, v)
        assert len(facts) == half == len(set(facts.values())), facts

    def rule(part, src):
        s = src.split()
        assert all(w == str(query) for w in s[1::2]) and all(0 <= int(k) < half for k in s[0::2])
        labels = {i + 1: facts[k] for i, k in enumerate(s) if i % 2 == 0}
        assert all(half <= int(v) < 2 * half for v in labels.values())
        return labelled(s, labels)
    return rule, None, learn


# ---- sequence ----

def sequence(kind, alphabet, longest, ranges):
    """ranges: {number of test examples' range: (shortest, longest)}, in the order of the test set."""
    def rule(part, src):
        words = src.split()
        if kind == "recall":
            shown = [w for w in words if w != "blank"]
            assert len(shown) == 1, words
            answer = shown
        else:
            answer = {"copy": words, "reverse": words[::-1], "sort": sorted(words)}[kind]
        assert all(w[0] == "s" and 0 <= int(w[1:]) < alphabet for w in answer), words
        return src, " ".join(answer)

    def check(parts):
        length = {part: [len(src.split()) for src, _ in lines] for part, lines in parts.items()}
        if kind == "recall":
            assert set(length["train"]) == {longest}
        else:
            assert min(length["train"]) == 1 and max(length["train"] + length["dev"]) == longest
        each = len(length["test"]) // len(ranges)
        for i, (low, high) in enumerate(ranges):
            got = length["test"][i * each:(i + 1) * each]
            assert all(low <= n <= high for n in got), (low, high, got)
            assert kind != "recall" or set(got) == {high}
    return rule, check
