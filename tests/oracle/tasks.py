"""Writes golden/tasks.txt: examples and scores of every shipped task, in plain Python from the papers and docs/.

    python tasks.py TEST            # TEST: the built test_task_examples; needs sacrebleu, takes a second
    python tasks.py TEST NAME ...   # prints these cases

The program draws examples; TEST prints them (with $ABLATE_EXAMPLES, which names a file with this page's cases). From what
a line gives, such as the input but never the answers, a case's rule computes the whole line. The golden file has some lines,
a hash of all, and the scores of fixed outputs and of made-up likelihoods; without $ABLATE_EXAMPLES TEST compares. Its lines:

    case TASK NAME key=value ...   settings; @ is the folder of the files. The lines below belong to this case
    file NAME, bytes NAME HEX      a file for this case and those behind it; below `file` its lines follow, each as |TEXT
    all PART COUNT HASH            FNV-1a, 64 bits, of all lines of a part, each with its end
    example PART NUMBER LINE       source, tab, target; of trees also the reference and the formatted target
    outputs                        begins a list of outputs to score, each in a line `output TEXT`
    score SPLIT NAME VALUE         of the outputs; without outputs, of made_up likelihoods

A part is a split; epoch1, epoch2 (train with fresh masks); dev_windows, test_windows (of a text, \\n for a line's end).
"""
import os
import subprocess
import sys
import tempfile
from collections import Counter
from math import exp

sys.path.append(sys.path.pop(0))  # so that statistics.py beside this file does not hide Python's
from sacrebleu.metrics import BLEU

import tasks_drawn as drawn
import tasks_german as german
import tasks_text as text
import tasks_trees as trees

SHOWN = 2  # example lines of each part


def made_up(counts):
    """Likelihoods that depend on an example's number alone: log p, tokens, tokens found likeliest."""
    return [(-0.375 * (1 + i % 5) * n, n, n - min(i * i % 7 % 3, n)) for i, n in enumerate(counts)]


def of_every_run(likelihoods):
    tokens = sum(n for _, n, _ in likelihoods)
    return {"PPL": exp(-sum(x for x, _, _ in likelihoods) / tokens),
            "token_accuracy": 100 * sum(r for _, _, r in likelihoods) / tokens}


def answers(line, given=0):
    return sum(w != drawn.NONE for w in line.split("\t")[1].split(" ")) - given


class Case:
    """rule(part, number, line) -> line; check(parts); scores(parts) -> lines."""

    def __init__(self, task, name, settings, rule, check=None, files=None, scores=None, learn=None):
        self.head = f"case {task} {name}" + (" " + settings if settings else "")
        self.rule, self.check, self.files, self.scores, self.learn = rule, check, files or {}, scores, learn

    def opening(self):
        out = [self.head]
        for name, content in self.files.items():
            if isinstance(content, bytes):
                out.append(f"bytes {name} {content.hex()}")
            else:
                out += [f"file {name}"] + ["|" + line for line in content]
        return out

    def golden(self, lines):
        """lines: {part: what the program printed}."""
        out = self.opening()
        if self.learn:
            self.learn([line.split("\t")[:2] for line in lines["train"]])
        made = {part: [self.rule(part, i, line) for i, line in enumerate(each)] for part, each in lines.items()}
        if self.check:
            self.check({part: [line.split("\t")[:2] for line in each] for part, each in made.items()})
        for part, each in made.items():
            h = 14695981039346656037
            for byte in "".join(line + "\n" for line in each).encode():
                h = (h ^ byte) * 1099511628211 & (1 << 64) - 1
            out.append(f"all {part} {len(each)} {h:x}")
            out += [f"example {part} {i} {line}" for i, line in enumerate(each[:SHOWN])]
            for i, (a, b) in enumerate(zip(each, lines[part])):
                if a != b:
                    print(f"{self.head}: {part} {i}\n  the program {b}\n  by the rule {a}", file=sys.stderr)
                    break
        return out + (self.scores(made) if self.scores else [])


def columns(rule):
    """A rule of the source alone."""
    return lambda part, i, line: "\t".join(rule(part, line.split("\t")[0]))


def lines_of(values, split):
    return [f"score {split} {name} {value!r}" for name, value in values.items()]


def by_labels(names, given=0):
    """Scores of tasks whose answers are labels: names in the order accuracy, solved."""
    def scores(made):
        out = []
        for split in ("dev", "test"):
            x = made_up([answers(line, given) for line in made.get(split, [])])
            if not x:
                continue
            values = {"accuracy": 100 * sum(r for _, _, r in x) / sum(n for _, n, _ in x),
                      "solved": 100 * sum(r == n for _, n, r in x) / len(x),
                      "loss": -sum(v for v, _, _ in x) / sum(n for _, n, _ in x)}
            out += lines_of({**{n: values[w] for n, w in names.items()}, **of_every_run(x)}, split)
        return out
    return scores


def label_case(task, name, settings, made, names):
    rule, check, *learn = made
    return Case(task, name, settings, columns(rule), check, scores=by_labels(names), learn=learn[0] if learn else None)


def drawn_cases():
    for operation in ("add", "subtract", "multiply", "divide"):
        yield label_case("arithmetic", operation, f"kind=modular operation={operation} modulus=23 test_examples=150",
                         drawn.modular(operation, 23), {"solved": "solved"})
    for backwards in (True, False):
        yield label_case("arithmetic", "addition" + ("" if backwards else "_forwards"),
                         f"kind=addition digits=3 reversed={str(backwards).lower()} train_examples=2000 test_examples=500",
                         drawn.addition(3, backwards), {"solved": "solved"})
    both = {"accuracy": "accuracy", "solved": "solved"}
    size = "train_examples=400 test_examples=50"
    for name, settings, made in [
            ("mqar", "kind=mqar vocab=40 length=32 pairs=4", drawn.mqar(40, 4)),
            ("mqar_filler", "kind=mqar vocab=40 length=32 pairs=4 random_filler=true", drawn.mqar(40, 4, True)),
            ("mqar_power", "kind=mqar vocab=40 length=34 pairs=1 power=0.3", drawn.mqar(40, 1, power=0.3)),
            ("induction", "kind=induction vocab=16 length=24", drawn.induction(16)),
            ("selective_copy", "kind=selective_copy vocab=16 length=40 copies=6", drawn.copying(16, 6, True)),
            ("compression", "kind=compression vocab=16 length=21", drawn.copying(16, 10, False)),
            ("in_context", "kind=noisy vocab=24 noise_vocab=8 length=32 noise=0", drawn.noisy(24, 8, 0)),
            ("noisy", "kind=noisy vocab=24 noise_vocab=8 length=32 noise=0.3", drawn.noisy(24, 8, 0.3)),
            ("noisy_everything", "kind=noisy vocab=24 noise_vocab=8 length=32 noise=0.3 train_on=everything",
             drawn.noisy(24, 8, 0.3, True)),
            ("fuzzy", "kind=fuzzy vocab=12 length=60 motif=2", drawn.fuzzy(12, 2)),
            ("fuzzy_everything", "kind=fuzzy vocab=16 length=40 motif=3 train_on=everything", drawn.fuzzy(16, 3, True)),
            ("memorisation", "kind=memorisation vocab=31 length=12", drawn.memorisation(31))]:
        yield label_case("recall", name, f"{settings} {size}", made, both)


def spoiled(i, answer):
    return "none" if i * i % 7 == 1 else answer


def sequence_scores(names, each):
    """Two of seven outputs are wrong. names: those of the test's ranges, with `each` examples."""
    def scores(made):
        out = []
        for split, of in (("dev", ["acc"]), ("test", ["acc", *names])):
            answer = [line.split("\t")[1] for line in made[split]]
            given = [spoiled(i, a) for i, a in enumerate(answer)]
            right = [a == b for a, b in zip(given, answer)]
            out += ["outputs"] + ["output " + g for g in given]
            for k, name in enumerate(of):
                part = right if k == 0 else right[(k - 1) * each:k * each]
                out += lines_of({name: 100 * sum(part) / len(part)}, split)
        return out
    return scores


def reach_scores(longest, rounds):
    """Distance d's answers are right in all rounds up to d = 3, in nine of ten at 4 and 5, in eight of ten at 6, in all
    behind: nine of ten are right up to 5. The test has each distance in turn."""
    def scores(made):
        answer = [line.split("\t")[1] for line in made["test"]]
        wrong = {(4, 0), (5, 1), (6, 2), (6, 3)}
        assert all(line.split(" ").index(a) == i % longest for i, (line, a) in
                   enumerate((line.split("\t")) for line in made["test"]))
        given = ["none" if (i % longest, i // longest) in wrong else a for i, a in enumerate(answer)]
        right = sum(a == b for a, b in zip(given, answer))
        values = {"acc": 100 * right / len(answer), "reach": 5.0}
        return ["outputs"] + ["output " + g for g in given] + lines_of(values, "test")
    return scores


def sequence_cases():
    size = "alphabet=9 min_length=1 max_length=8 train_examples=300 test_examples=12"
    halves = [(1, 8), (9, 10), (11, 12)]
    for kind in ("copy", "reverse", "sort"):
        yield Case("sequence", kind, f"kind={kind} test_length=12 {size}", *map_rule(drawn.sequence(kind, 9, 8, halves)),
                   scores=sequence_scores(["acc_in", "acc_near", "acc_far"], 12))
    steps = [(1, 8), (9, 11), (12, 14)]
    yield Case("sequence", "steps", f"kind=copy test_length=14 test_step=3 {size}",
               *map_rule(drawn.sequence("copy", 9, 8, steps)), scores=sequence_scores(["acc_in", "acc_11", "acc_14"], 12))
    yield Case("sequence", "recall",
               "kind=recall alphabet=9 max_length=10 test_length=10 train_examples=300 test_examples=100",
               *map_rule(drawn.sequence("recall", 9, 10, [(10, 10)])), scores=reach_scores(10, 10))


def map_rule(made):
    rule, check = made
    return columns(rule), check


# ---- texts ----

def prose(seed, lines, words=7):
    """Lines of made-up words, some empty."""
    names, out = "the cat sat on a mat and dogs ran to barns ümlaut is x".split(), []
    for i in range(lines):
        line = []
        for _ in range(seed * 7 % 5 and 1 + (seed >> 8) % words if i % 9 else 0):
            seed = (seed * 1103515245 + 12345) % (1 << 31)
            line.append(names[(seed >> 12) % len(names)])
        seed = (seed * 1103515245 + 12345) % (1 << 31)
        out.append(" ".join(line))
    return out


def lm_case(name, settings, files, made):
    all_lines, score = made

    def scores(_):
        split, counts, values = score(made_up)
        return lines_of({**values, **of_every_run(made_up(counts))}, split)
    return Case("lm", name, settings, lambda part, i, line: all_lines(part)[i], files=files, scores=scores)


def documents_case():
    names = [f"d{i}" for i in range(10)]
    texts = {name: [f"{name} {line}" for line in prose(31 * i + 5, 2 + i % 3, 4)] for i, name in enumerate(names)}
    every = text.documents(texts, 16, 0.2, 0.3)
    case = Case("lm", "documents", "file=@/texts context=16 dev_part=0.2 test_part=0.3", None,
                files={f"texts/{name}.txt": lines for name, lines in texts.items()})
    golden = case.golden

    def whole(lines):
        given = {part: [line[1:] for line in lines[part]] for part in ("train", "dev", "test")}
        case.rule = lambda part, i, line: every(part, given)[i]
        return golden(lines)
    case.golden = whole
    return case


def text_cases():
    lines = prose(7, 60)
    strange = [*lines[:40], "żółw 3 the", *lines[40:], "the 日本 cat"]
    yield lm_case("char", "file=@/a.txt context=16 dev_part=0.2 test_part=0.15", {"a.txt": strange},
                  text.language_model(strange, 16, "char", 0.2, 0.15))
    yield lm_case("word", "file=@/a.txt context=8 unit=word dev_part=0.1 test_part=0.2", {"a.txt": strange},
                  text.language_model(strange, 8, "word", 0.1, 0.2))
    three = [lines[:40], lines[40:50], ["a zebra", "", "the cat"]]
    yield lm_case("files", "file=@/train.txt dev=@/dev.txt test=@/test.txt context=8",
                  dict(zip(("train.txt", "dev.txt", "test.txt"), three)),
                  text.language_model(None, 8, "char", files=three))
    yield documents_case()
    for unit, mask in (("char", 0.15), ("word", 0.4)):
        rule, check = text.masked(prose(3, 200), 12, unit, mask, 0.1)
        yield Case("masked", unit, f"file=@/masked.txt context=12 unit={unit} mask={mask}",
                   lambda part, i, line, rule=rule: "\t".join(rule(part, i, *line.split("\t"))), check,
                   files={"masked.txt": prose(3, 200)} if unit == "char" else {},
                   scores=by_labels({"acc": "accuracy", "loss": "loss"}))


def image_cases():
    images = [[i] + [(7 * i + 13 * k + i * k) % 256 for k in range(1, 12)] for i in range(40)]
    labels = [3 * i % 10 for i in range(40)]
    files = {"i.idx": text.idx(images, 3, 4), "l.idx": text.idx_labels(labels)}

    def bits(given):
        def scores(made):
            x = made_up([answers(line, given) for line in made["test"]])
            return lines_of({"bits_per_dim": -sum(v for v, _, _ in x) / sum(n for _, n, _ in x) / 0.6931471805599453,
                             **of_every_run(x)}, "test")
        return scores
    rule, check = text.drawn_images(images, labels, 0.2, 0.1)
    yield Case("image", "drawn", "data=@/i.idx labels=@/l.idx dev_part=0.2",
               lambda part, i, line: rule(part, *line.split("\t")), check, files=files, scores=bits(1))
    for levels, white in ((16, 255), (2, 255), (100, 255), (10, 250)):
        dim = [[min(v, white) for v in image] for image in images]
        name = {"train": dim[:20], "dev": dim[20:30], "test": dim[30:]}
        yield Case("image", f"levels_{levels}", "data=@/train.idx dev=@/dev.idx test=@/test.idx "
                   f"levels={levels}" + (f" max={white}" if white != 255 else ""),
                   lambda part, i, line, n=name, a=levels, b=white: text.pixels(n[part][i], a, b),
                   files={f"{part}.idx": text.idx(each, 3, 4) for part, each in name.items()}, scores=bits(0))


# ---- trees ----

BANK = """( (S (NP-SBJ-1 (DT the) (NN dog)) (VP=2 (VBZ barks) (NP (-NONE- *T*-1))) (. .)) )
(ROOT (ADVP|PRT (RB up)))
(TOP (S (NP (NP (DT a) (NN cat)) (PP (IN on) (NP (NN mat)))) (, ,) (VP (VBZ sees) (NP (PRP it))) (. .)))
(TOP (S (`` ``) (NP (PRP it)) ('' '') (VP (VBZ is) (ADJP (JJ good)) (SBAR (IN that) (S (NP (NNS cats)) (VP (VBP run))))) (. .)))
(S1 (SBARQ (WHNP (WP who)) (SQ (VP (VBD ran) (PRT (RP off)))) (. ?)))
(TOP (S (NP (NNP Ann)) (VP (MD can) (VP (VB see) (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (NNP Bob)))))) (. .)) (NP (NN end)))"""


def changed(i, tree, form):
    """An output and its tree: unchanged; the outermost label replaced; all brackets but one left out; the end left out."""
    inside = tree[1:]
    if i % 4 == 1:
        inside = [["SBAR", *inside[0][1:]], *inside[1:]]
    elif i % 4 == 2:
        inside = [["S", *trees.leaves(tree)]]
    words = sum((trees.linearised(c, form) for c in inside), [])
    return " ".join(words[:-1] if i % 4 == 3 else words), ["TOP", *inside], i % 4 != 3


def tree_scores(bank, form):
    def scores(made):
        out, pairs = ["outputs"], []
        for i, tree in enumerate(bank):
            line, found, good = changed(i, tree, form)
            out.append("output " + line)
            pairs.append((tree, found, good))
        complete = [sorted(trees.brackets(g)) == sorted(trees.brackets(f)) for g, f, _ in pairs]
        return out + lines_of({**trees.f1(pairs), "complete": 100 * sum(complete) / len(pairs),
                               "well_formed": 100 * sum(g for _, _, g in pairs) / len(pairs)}, "test")
    return scores


def tree_cases():
    raw = BANK.split("\n")
    bank = [trees.clean(t) for line in raw for t in trees.read(line)]
    parts = {"train": bank, "dev": bank[:3], "test": bank[1:]}
    files = {"bank/train.ptb": raw, "bank/dev.ptb": raw[:3], "bank/test.ptb": raw[1:]}
    for form in ("labels", "xx", "words", "in_order"):
        yield Case("parsing", form, f"data=@/bank linearisation={form}",
                   lambda part, i, line, form=form: trees.example(parts[part][i], form), files=files,
                   scores=tree_scores(parts["test"], form))

    def by_source(part, i, line):
        """Which tree comes when is the program's choice."""
        source = line.split("\t")[0]
        return next(trees.example(t, "words") for t in bank if " ".join(w for _, w in trees.leaves(t)) == source)

    def check(made):
        assert Counter(src for src, _ in made["train"]) == Counter(
            {" ".join(w for _, w in trees.leaves(t)): 3 if t in bank[:4] else 1 for t in bank}), made
    yield Case("parsing", "silver", "data=@/gold silver=@/silver.ptb gold_repeat=3", by_source, check,
               files={"gold/train.ptb": raw[:4], "gold/dev.ptb": raw[:1], "gold/test.ptb": raw[:1], "silver.ptb": raw[4:]})

    def drawn_tree(part, i, line):
        """Given: the tree."""
        tree = trees.read(line.split("\t")[2])[0]
        trees.grammatical(tree)
        return trees.example(tree, "in_order")
    yield Case("parsing", "synthetic", "data=synthetic train_trees=300 linearisation=in_order", drawn_tree)


# ---- pairs ----

PAIRS = """The cat sat on the mat.|Die Katze saß auf der Matte.|die Katze saß auf einer Matte.
Two dogs, one bone!|Zwei Hunde, ein Knochen!|Zwei Hunde, ein Knochen!
It costs $3.50 (or less).|Es kostet 3,50 $ (oder weniger).|Das kostet 3,50 $ (oder mehr).
"Who?" he asked - twice.|"Wer?", fragte er - zweimal.|"Wer" fragte er, zweimal?
A man sees the old house by the river.|Ein Mann sieht das alte Haus am Fluss.|Ein Mann sieht das alte haus am Fluss .
Nothing|Nichts|etwas ganz anderes"""


def pair_cases():
    rows = [line.split("|") for line in PAIRS.split("\n")]
    src, tgt, out = zip(*rows)
    files = {"c/train.en": src, "c/train.de": tgt, "c/dev.en": src[:2], "c/dev.de": tgt[:2], "c/test.en": src,
             "c/test.de": tgt}
    for name, settings, tok, lower in (("folder", "", "13a", False), ("lowercase", " lowercase=true tok=intl", "intl", True),
                                       ("first_pairs", " first_pairs=4 tok=none", "none", False),
                                       ("char", " tok=char", "char", False)):
        kept = {"train": 4 if name == "first_pairs" else 6, "dev": 2, "test": 6}

        def rule(part, i, line, kept=kept):
            return "\t".join((src[:kept[part]][i], tgt[:kept[part]][i]))

        def scores(_, tok=tok, lower=lower):
            bleu = BLEU(tokenize=tok, lowercase=lower).corpus_score(list(out), [list(tgt)])
            return ["outputs"] + ["output " + line for line in out] + lines_of({"BLEU": bleu.score}, "test")
        yield Case("translation", name, "data=@/c" + settings, rule, files=files, scores=scores)
    table = {f"sentence {i} is {'odd' if i % 2 else 'even'}": f"Satz {i}" for i in range(60)}

    def split_off(made):
        """All of a table's rows once; dev and test are parts of it, of equal size as draws go."""
        assert Counter(src for part in made.values() for src, _ in part) == Counter(list(table))
        assert all(1 <= len(made[part]) <= 9 for part in ("dev", "test"))
    yield Case("translation", "table", "data=@/t.tsv", columns(lambda part, line: (line, table[line])), split_off,
               files={"t.tsv": [f"{a}\t{b}" for a, b in table.items()]})


def german_case():
    def distinct(made):
        assert {part: len(lines) for part, lines in made.items()} == {"train": 400, "dev": 30, "test": 30}
        assert max(Counter(src for part in made.values() for src, _ in part).values()) == 1

    def scores(made):
        """The text is tokenised, so BLEU takes words as they are."""
        answer = [line.split("\t")[1] for line in made["test"]]
        given = [" ".join(a.split()[::-1] if i % 3 == 1 else a.split()[:-2]) if i % 3 else a for i, a in enumerate(answer)]
        bleu = BLEU(tokenize="none", force=True).corpus_score(given, [answer])
        return ["outputs"] + ["output " + line for line in given] + lines_of({"BLEU": bleu.score}, "test")
    yield Case("translation", "synthetic", "train_pairs=400 dev_pairs=30 test_pairs=30",
               lambda part, i, line: "\t".join(german.rule(*line.split("\t"))), distinct, scores=scores)


def main():
    test, wanted = sys.argv[1], sys.argv[2:]
    makers = drawn_cases, sequence_cases, text_cases, image_cases, tree_cases, pair_cases, german_case
    cases = [case for make in makers for case in make()]
    cases = [c for c in cases if not wanted or c.head.split()[2] in wanted or c.head.split()[1] in wanted]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as plan:
        plan.write("".join(line + "\n" for c in cases for line in c.opening()))
        plan.flush()
        environment = {**os.environ, "ABLATE_EXAMPLES": plan.name}
        said = subprocess.run([test], env=environment, check=True, capture_output=True).stdout
    printed, out = ("\n" + said.decode()).split("\ncase ")[1:], ["# Made by tests/oracle/tasks.py: see there."]
    assert len(printed) == len(cases), (len(printed), len(cases))
    for case, block in zip(cases, printed):
        lines = {}
        for line in block.rstrip("\n").split("\n")[1:]:
            part, rest = line.split(" ", 1)
            lines.setdefault(part, []).append(rest)
        out += case.golden(lines)
    if wanted:
        print("\n".join(out))
    else:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "tasks.txt"), "w") as f:
            f.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
