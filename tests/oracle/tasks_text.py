"""The rules of the tasks that read files: lm, masked, image, translation."""
from math import log

from tasks_drawn import NONE, near

END = "\\n"


# ---- lm ----

def divided(lines, dev_part, test_part):
    """Train, dev and test: whole lines at the text's end, as many as their share of its bytes holds, test's last."""
    size = [len(line.encode()) + 1 for line in lines]
    ends = [len(lines)]
    for part in (test_part, dev_part):
        at = ends[0]
        while at and sum(size[at - 1:ends[0]]) <= part * sum(size):
            at -= 1
        ends.insert(0, at)
    return lines[:ends[0]], lines[ends[0]:ends[1]], lines[ends[1]:]


def tokens_of(lines, unit):
    """A line's tokens, each line with its end."""
    return [t for line in lines for t in [*(line if unit == "char" else line.split()), END]]


def windows(tokens, context, unit):
    glue = "" if unit == "char" else " "
    return [glue.join(tokens[i:i + context]) for i in range(0, len(tokens), context)]


def known(tokens, train):
    """Tokens that training does not have are unknown."""
    seen = {*train, END}
    return [t if t in seen else "<unk>" for t in tokens]


def language_model(lines, context, unit, dev_part=0.1, test_part=0.0, files=None):
    train, dev, test = files or divided(lines, dev_part, test_part)
    parts = dict(train=train, dev=dev, test=test)
    learned = tokens_of(train, unit)
    made = {part + "_windows": windows(known(tokens_of(parts[part], unit), learned), context, unit)
            for part in ("dev", "test")}

    def all_lines(part):
        return made[part] if part in made else ["\t" + line for line in parts[part]]

    def score(likelihoods):
        """Bits of the test text's bytes and characters; text outside the vocabulary costs 8 bits a byte more."""
        tokens = tokens_of(test, unit)
        outside = sum(8 * len(t.encode()) for t in tokens if t not in {*learned, END})
        counts = [min(context, len(tokens) - i) for i in range(0, len(tokens), context)]
        nats = [-x for x, _, _ in likelihoods(counts)]
        text = "\n".join(" ".join(line.split()) if unit == "word" else line for line in test) + "\n"
        bits = sum(nats) / log(2) + outside
        out = {"bits_per_byte": bits / len(text.encode()), "loss": sum(nats) / len(tokens)}
        if unit == "char":
            out["bits_per_char"] = bits / len(text)
        return "test", counts, out
    return all_lines, score


def documents(texts, context, dev_part, test_part):
    """texts: {name: lines}; a line begins with its document's number. Which documents are whose is drawn."""
    def all_lines(part, lines):
        owner = {part: [line.split()[0] for line in lines[part]] for part in ("train", "dev", "test")}
        order = {part: list(dict.fromkeys(owner[part])) for part in owner}
        whole = [d for part in order for d in order[part]]
        assert sorted(whole) == sorted(texts), whole
        size = {d: sum(len(line.encode()) + 1 for line in texts[d]) for d in texts}
        for split, share in (("dev", dev_part), ("test", test_part)):  # whole documents, so near the share of bytes
            off = sum(size[d] for d in order[split]) - share * sum(size.values())
            assert order[split] and abs(off) <= max(size.values()), (split, off)
        if part in order:
            return ["\t" + line for d in order[part] for line in texts[d]]
        learned = tokens_of([line for d in order["train"] for line in texts[d]], "char")
        return [w for d in order[part.split("_")[0]]
                for w in windows(known(tokens_of(texts[d], "char"), learned), context, "char")]
    return all_lines


# ---- masked ----

def masked(lines, context, unit, mask, dev_part):
    """Devlin et al. 2018, section 3.1: chosen tokens are predicted; 80 % of them are masked, 10 % become a random token,
    10 % stay."""
    train, dev, _ = divided(lines, dev_part, 0)
    shown = {" ": "▁", END: "[END]"}
    learned = {shown.get(t, t) for t in tokens_of(train, unit)}

    def text(part):
        return [shown.get(t, t) for t in tokens_of(dev if part == "dev" else train, unit)]

    def rule(part, number, src, tgt):
        """Given: the input, and which positions were chosen."""
        true = [t if t in learned else "[UNK]" for t in text(part)[number * context:(number + 1) * context]]
        source, chosen = src.split(), [w != NONE for w in tgt.split()]
        assert len(source) == len(chosen) == context
        for s, t, c in zip(source, true, chosen):
            assert s == t if not c else s == "[MASK]" or s in learned, (source, true)
        return " ".join(source), " ".join(t if c else NONE for t, c in zip(true, chosen))

    def check(parts):
        assert len(parts["train"]) == len(text("train")) // context
        words = [(s, t) for part in ("train", "epoch1", "epoch2") for src, tgt in parts[part]
                 for s, t in zip(src.split(), tgt.split())]
        asked = [(s, t) for s, t in words if t != NONE]
        none = (1 - mask) ** context / context  # a window without a chosen token gets one
        near(len(asked), mask + none, len(words), "chosen tokens")
        near(sum(s == "[MASK]" for s, _ in asked), 0.8, len(asked), "masked tokens")
        near(sum(s == t for s, t in asked), 0.1 + 0.1 / len(learned), len(asked), "tokens that stay")
        assert len({str(parts[p]) for p in ("train", "epoch1", "epoch2")}) == 3  # fresh masks in each epoch
    return rule, check


# ---- image ----

def idx(images, height, width):
    """MNIST's format."""
    head = bytes([0, 0, 8, 3]) + b"".join(n.to_bytes(4, "big") for n in (len(images), height, width))
    return head + b"".join(map(bytes, images))


def idx_labels(labels):
    return bytes([0, 0, 8, 1]) + len(labels).to_bytes(4, "big") + bytes(labels)


def pixels(image, levels, white, label=None):
    return "\t" + " ".join(([f"={label}"] if label is not None else []) + [str(v * levels // (white + 1)) for v in image])


def drawn_images(images, labels, dev_part, test_part):
    """Given: the number of each image, which is its first pixel."""
    def rule(part, src, tgt):
        number = int(tgt.split()[1])
        return pixels(images[number], 256, 255, labels[number])

    def check(parts):
        n = len(images)
        assert sorted(int(tgt.split()[1]) for part in parts.values() for _, tgt in part) == list(range(n))
        assert [len(parts["dev"]), len(parts["test"])] == [round(n * dev_part), round(n * test_part)]
    return rule, check
