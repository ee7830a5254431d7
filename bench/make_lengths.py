#!/usr/bin/env python3
"""Makes a file of batch lengths from parallel text, or a synthetic one. `ablate-bench` and the PyTorch programs here read it.

usage: make_lengths.py --src FILE --tgt FILE --model SPM [--vocab 10000] [--tokens 4096] [--batches N] [--seed 1] > LENGTHS
       make_lengths.py --synthetic [--mean 28] [--longest 100] [--tokens 25000] [--batches 12] [--seed 1] > LENGTHS

Format: one batch per line, its sentence pairs as src:tgt in subwords with EOS counted; `#` starts a comment line. If SPM does not exist, it
is trained on both texts (type bpe), or on the files of --train-on FILE.... Synthetic lengths need no text: source lengths are log-normal with
the given mean, as in news corpora, and target lengths vary around them; the file's first line says so.
--unsorted keeps the text's order (for decoding, where the decoder makes the batches).
"""
import argparse
import os
import random
import sys

SPREAD, SIDES = 0.55, 0.15          # standard deviations of log(length), and of log(target length / source length)


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--src")
    a.add_argument("--tgt")
    a.add_argument("--model", help="SentencePiece model file")
    a.add_argument("--train-on", nargs="+", help="texts to train the SentencePiece model on")
    a.add_argument("--vocab", type=int, default=10000, help="vocabulary size, if the model is trained")
    a.add_argument("--tokens", type=int, default=4096, help="most tokens per batch on either side")
    a.add_argument("--max-len", type=int, default=256, help="longest sentence kept [tokens]")
    a.add_argument("--batches", type=int, default=0, help="number of batches, spread from short to long ones; 0: all")
    a.add_argument("--unsorted", action="store_true")
    a.add_argument("--synthetic", action="store_true")
    a.add_argument("--mean", type=float, default=28, help="mean of synthetic source lengths [tokens]")
    a.add_argument("--longest", type=int, default=100, help="longest synthetic sentence [tokens]")
    a.add_argument("--seed", type=int, default=1, help="seed of the batches' order and of synthetic lengths")
    o = a.parse_args()
    if not o.synthetic and not (o.src and o.tgt and o.model):
        a.error("either --synthetic, or --src, --tgt and --model")
    return o


def from_text(o):
    """Lengths of the text's pairs, and a description of them."""
    import sentencepiece as spm
    if not os.path.exists(o.model):
        spm.SentencePieceTrainer.train(input=o.train_on or [o.src, o.tgt], model_prefix=o.model.removesuffix(".model"),
                                       vocab_size=o.vocab, model_type="bpe", minloglevel=2)
    sp = spm.SentencePieceProcessor(model_file=o.model)
    with open(o.src, encoding="utf-8") as s, open(o.tgt, encoding="utf-8") as t:
        pairs = [(len(a) + 1, len(b) + 1) for a, b in zip(sp.encode(s.read().splitlines()), sp.encode(t.read().splitlines()))]
    words = f"{os.path.basename(o.src)} {os.path.basename(o.tgt)} vocab {sp.get_piece_size()}"
    return [p for p in pairs if max(p) <= o.max_len], words


def synthetic(o):
    """Makes enough pairs that sorting them gives batches of many lengths."""
    r = random.Random(o.seed)
    mu = -SPREAD**2 / 2                                               # log-normal with mean 1
    clip = lambda x: int(min(o.longest, max(3, round(x))))
    pairs = []
    for _ in range(int(64 * o.tokens / o.mean) + 1):
        s = clip(o.mean * r.lognormvariate(mu, SPREAD))
        pairs.append((s, clip(s * r.lognormvariate(0, SIDES))))
    return pairs, f"synthetic: log-normal, mean {o.mean:g}, 3 to {o.longest} tokens; not from any text;"


def cut(pairs, tokens):
    """Cuts the list into batches of successive pairs, with at most so many tokens on either side."""
    batches, now, used = [], [], (0, 0)
    for p in pairs:
        grown = (used[0] + p[0], used[1] + p[1])
        if now and max(grown) > tokens:
            batches.append(now)
            now, grown = [], p
        now.append(p)
        used = grown
    return batches + [now]


def main():
    o = arguments()
    pairs, words = synthetic(o) if o.synthetic else from_text(o)
    batches = cut(pairs if o.unsorted else sorted(pairs), o.tokens)
    if not o.unsorted:
        batches = batches[:-1] or batches                             # drops the last one, which is not full
        if 0 < o.batches < len(batches):
            batches = [batches[(2 * i + 1) * len(batches) // (2 * o.batches)] for i in range(o.batches)]
        random.Random(o.seed).shuffle(batches)
    rows = sum(len(b) * (max(s for s, _ in b) + max(t for _, t in b)) for b in batches)
    real = sum(s + t for b in batches for s, t in b)
    n = sum(map(len, batches))
    print(f"# {words} tokens {o.tokens}: {len(batches)} batches, {real / 2 / n:.1f} tokens a sentence, "
          f"{real / rows:.1%} of a padded batch is real")
    for b in batches:
        print(" ".join(f"{s}:{t}" for s, t in b))
    print(f"{len(batches)} batches, {n} pairs, {real} tokens", file=sys.stderr)


if __name__ == "__main__":
    main()
