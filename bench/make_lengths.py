#!/usr/bin/env python3
"""Makes a file of batch lengths from parallel text, for bench/train_torch.py without ablate at hand.

usage: make_lengths.py --src FILE --tgt FILE --model SPM [--vocab 10000] [--tokens 4096] [--seed 1] > LENGTHS

The format, also written by `ablate bench lengths`: one batch a line, its sentence pairs as src:tgt in subwords with EOS counted;
`#` starts a comment line. SPM is trained on both texts (type bpe) when it does not exist.
"""
import argparse
import os
import random
import sys


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--src", required=True)
    a.add_argument("--tgt", required=True)
    a.add_argument("--model", required=True, help="SentencePiece model file")
    a.add_argument("--vocab", type=int, default=10000, help="entries, when the model is trained")
    a.add_argument("--tokens", type=int, default=4096, help="most tokens a batch, on either side")
    a.add_argument("--max-len", type=int, default=256, help="longest sentence kept [tokens]")
    a.add_argument("--seed", type=int, default=1, help="of the batches' order")
    return a.parse_args()


def main():
    import sentencepiece as spm
    o = arguments()
    if not os.path.exists(o.model):
        spm.SentencePieceTrainer.train(input=[o.src, o.tgt], model_prefix=o.model.removesuffix(".model"), vocab_size=o.vocab,
                                       model_type="bpe", minloglevel=2)
    sp = spm.SentencePieceProcessor(model_file=o.model)
    with open(o.src, encoding="utf-8") as s, open(o.tgt, encoding="utf-8") as t:
        pairs = [(len(a) + 1, len(b) + 1) for a, b in zip(sp.encode(s.read().splitlines()), sp.encode(t.read().splitlines()))]
    pairs = sorted(p for p in pairs if max(p) <= o.max_len)
    batches, now, used = [], [], (0, 0)
    for p in pairs:
        grown = (used[0] + p[0], used[1] + p[1])
        if now and max(grown) > o.tokens:
            batches.append(now)
            now, grown = [], p
        now.append(p)
        used = grown
    batches.append(now)
    random.Random(o.seed).shuffle(batches)
    rows = sum(len(b) * (max(s for s, _ in b) + max(t for _, t in b)) for b in batches)
    real = sum(s + t for s, t in pairs)
    print(f"# {o.src} {o.tgt} vocab {sp.get_piece_size()} tokens {o.tokens}: {len(batches)} batches, "
          f"{real / rows:.1%} of a padded batch is real")
    for b in batches:
        print(" ".join(f"{s}:{t}" for s, t in b))
    print(f"{len(batches)} batches, {len(pairs)} pairs, {real} tokens", file=sys.stderr)


if __name__ == "__main__":
    main()
