"""The rules of the task parsing: trees as sequences (docs/parsing.md) and bracket F1 (EVALB with COLLINS.prm).

A tree is [label, child, ...]; a leaf is (tag, word).
"""
import re

PUNCTUATION = {",", ":", "``", "''", "."}  # COLLINS.prm: DELETE_LABEL, beside TOP and -NONE-


def read(text):
    """All trees of a text of Penn Treebank brackets."""
    tokens, stack = re.findall(r"[()]|[^\s()]+", text), [[]]
    for i, t in enumerate(tokens):
        if t == "(":
            stack.append([])
        elif t == ")":
            done = stack.pop()
            leaf = len(done) == 2 and all(isinstance(x, str) for x in done)
            stack[-1].append(tuple(done) if leaf else done)
        else:
            stack[-1].append(t)
    return stack[0]


def clean(tree):
    """Without empty elements, function tags and indices; the outermost bracket is TOP."""
    def walk(t):
        if isinstance(t, tuple):
            return None if t[0] == "-NONE-" else t
        label, children = (t[0], t[1:]) if t and isinstance(t[0], str) else ("", t)
        children = [c for c in map(walk, children) if c]
        label = label if label[:1] == "-" else re.split("[-=|]", label)[0]
        return [label, *children] if children else None
    t = walk(tree)
    return t and (["TOP", *t[1:]] if t[0] in ("", "TOP", "ROOT", "S1") else ["TOP", t])


def leaves(t):
    return [t] if isinstance(t, tuple) else [x for c in t[1:] for x in leaves(c)]


def bracketed(t, tags=True):
    if isinstance(t, tuple):
        return f"({t[0] if tags else 'XX'} {t[1]})"
    return f"({t[0]} {' '.join(bracketed(c, tags) for c in t[1:])})"


def linearised(t, form):
    if isinstance(t, tuple):
        return [{"labels": t[0], "xx": "XX"}.get(form, t[1])]
    parts = [linearised(c, form) for c in t[1:]]
    if form == "in_order":
        return parts[0] + ["(" + t[0]] + sum(parts[1:], []) + [")" + t[0]]
    opened = t[0] if form in ("labels", "xx") else "(" + t[0]
    closed = ("/" if form in ("labels", "xx") else ")") + t[0]
    return [opened] + sum(parts, []) + [closed]


def example(tree, form):
    """Source, target, reference, and the target as a tree again: tags come back where the target has them."""
    inside = sum((linearised(c, form) for c in tree[1:]), [])
    return "\t".join([" ".join(w for _, w in leaves(tree)), " ".join(inside), bracketed(tree),
                      bracketed(tree, tags=form == "labels")])


# ---- the synthetic treebank ----

# CD of the and these, and DT of two, are the program's fault (docs/limits.md): recorded experiments have such trees
TAGS = {"the": ["DT", "CD"], "this": ["DT"], "these": ["DT", "CD"], "a": ["DT"], "two": ["CD", "DT"], "that": ["WDT", "IN"],
        "and": ["CC"], "will": ["MD"], "can": ["MD"], "must": ["MD"]}


def plural(noun_phrase):
    """Is the head of a noun phrase plural? The head stands in its first part; coordination is plural."""
    if any(isinstance(c, tuple) and c[0] == "CC" for c in noun_phrase[1:]):
        return True
    first = noun_phrase[1]
    return plural(first) if isinstance(first, list) else any(tag == "NNS" for tag, _ in noun_phrase[1:])


def grammatical(tree, of=None):
    """Each finite verb agrees with its subject, which a relative clause modifies, and function words have the Penn
    Treebank's tags."""
    if isinstance(tree, tuple):
        assert tree[0] in TAGS.get(tree[1], tree[:1]), tree
        return
    subject = of
    for c in tree[1:]:
        if c[0] == "NP":
            subject = c
        if c[0] == "VP" and subject and tree[0] == "S":
            assert {"VBZ": not plural(subject), "VBP": plural(subject)}.get(c[1][0], True), tree
        grammatical(c, subject if tree[0] == "NP" and c[0] == "SBAR" else of if tree[0] == "SBAR" else None)


# ---- scores ----

def brackets(tree):
    """(label, first, end) over the words that count; equal labels ADVP and PRT."""
    out, at = [], 0

    def walk(t):
        nonlocal at
        if isinstance(t, tuple):
            at += t[0] not in PUNCTUATION
            return
        first = at
        for c in t[1:]:
            walk(c)
        if t[0] not in {"TOP", *PUNCTUATION}:
            out.append(("ADVP" if t[0] == "PRT" else t[0], first, at))
    walk(tree)
    return out


def f1(pairs):
    """pairs: (gold, found, strict) trees; strict: is the output a tree over the right words? F1, strict F1, and the share of
    sentences whose brackets are all right."""
    matched = gold_n = found_n = strict_matched = strict_found = whole = 0
    for gold, found, strict in pairs:
        a, b = brackets(gold), brackets(found)
        rest, m = list(a), 0
        for x in b:
            if x in rest:
                rest.remove(x)
                m += 1
        matched, gold_n, found_n = matched + m, gold_n + len(a), found_n + len(b)
        whole += m == len(a) == len(b)
        if strict:
            strict_matched, strict_found = strict_matched + m, strict_found + len(b)
    return {"F1": 200 * matched / (gold_n + found_n), "F1_strict": 200 * strict_matched / (gold_n + strict_found)}
