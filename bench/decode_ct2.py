#!/usr/bin/env python3
"""CTranslate2 on a checkpoint of ablate: converts the weights, translates, prints one line of JSON.

usage: decode_ct2.py --model CHECKPOINT --src FILE [--out FILE] [--compute float32|bfloat16] [--beam 4] [--alpha 0.6]
       decode_ct2.py --model CHECKPOINT --src FILE --check     greedy output and scores against tests/oracle/model.py

Every way of spending the threads and every batch size is tried (--quick: one) and the fastest counts; --seconds is the least time for each.
The clock runs over token lists, in whole passes over the file; loading, subword splitting and joining are not timed.

Length penalty: ablate divides a log-probability by ((5 + n) / 6)^alpha, CTranslate2 by n^penalty. Both have the same slope in log n at
n = the mean source length with penalty = alpha n / (5 + n): that is the default for --penalty. The hypotheses of the two programs are not
word for word the same, therefore compare BLEU and lengths as well as sentences a second.
"""
import argparse
import base64
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "oracle"))
BATCHES = ((16, "examples"), (32, "examples"), (64, "examples"), (128, "examples"), (1024, "tokens"), (2048, "tokens"))


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--model", required=True)
    a.add_argument("--src", required=True, help="text, a sentence a line")
    a.add_argument("--out", help="where the translations go")
    a.add_argument("--compute", default="float32", help="CTranslate2's compute type")
    a.add_argument("--beam", type=int, default=4)
    a.add_argument("--alpha", type=float, default=0.6)
    a.add_argument("--penalty", type=float, help="CTranslate2's length penalty, instead of the one made from alpha")
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--seconds", type=float, default=5)
    a.add_argument("--repeats", type=int, default=3, help="timings of the fastest setting; their median counts")
    a.add_argument("--quick", action="store_true")
    a.add_argument("--check", action="store_true")
    return a.parse_args()


# ---- conversion ----

def spec_of(c, params):
    """A CTranslate2 specification with our arrays: weights transposed to [out, in], one shared table, interleaved sinusoid."""
    import ctranslate2
    if not c.d_k == c.d_v == c.d_model // c.heads:
        raise SystemExit("CTranslate2 wants d_k = d_v = d_model / heads")
    specs = ctranslate2.specs
    spec = specs.TransformerSpec.from_config((c.layers, c.layers), c.heads, pre_norm=c.norm == "pre",
                                             activation=specs.Activation.RELU)
    from model import sinusoid
    import torch
    table = params["embed"].numpy()
    positions = sinusoid(1024, c.d_model, torch.float32).numpy()

    def linear(to, name):
        to.weight = np.ascontiguousarray(params[name + ".w"].numpy().T)
        to.bias = params[name + ".b"].numpy()

    def norm(to, name):
        to.gamma, to.beta = params[name + ".g"].numpy(), params[name + ".b"].numpy()

    def attention(to, name, parts):
        for layer, part in zip(to.linear, parts):
            linear(layer, f"{name}.{part}")
        norm(to.layer_norm, name + ".ln")

    def ffn(to, name):
        linear(to.linear_0, name + ".1")
        linear(to.linear_1, name + ".2")
        norm(to.layer_norm, name + ".ln")

    for stack, prefix in ((spec.encoder, "enc"), (spec.decoder, "dec")):
        stack.scale_embeddings = True
        stack.position_encodings.encodings = positions
        for i, layer in enumerate(stack.layer):
            attention(layer.self_attention, f"{prefix}.{i}.self", ("qkv", "o"))
            ffn(layer.ffn, f"{prefix}.{i}.ffn")
            if prefix == "dec":
                attention(layer.attention, f"dec.{i}.cross", ("q", "kv", "o"))
        if c.norm == "pre":
            norm(stack.layer_norm, prefix + ".ln")
    spec.encoder.embeddings[0].weight = table
    spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table
    spec.config.layer_norm_epsilon = c.eps
    spec.config.add_source_eos = True
    return spec


def convert(c, params, pieces, folder):
    spec = spec_of(c, params)
    spec.register_source_vocabulary(list(pieces))
    spec.register_target_vocabulary(list(pieces))
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = "<unk>", pieces[c.bos], pieces[c.eos]
    spec.config.decoder_start_token = pieces[c.bos]
    spec.validate()
    spec.save(folder)


def vocabulary(meta):
    """The SentencePiece processor in a checkpoint: a header line, then the model."""
    import sentencepiece as spm
    header, model = base64.b64decode(meta["vocab.src"]).split(b"\n", 1)
    if header.split()[2] not in (b"bpe", b"unigram"):
        raise SystemExit(f"the vocabulary is {header.decode()}: expected bpe or unigram")
    return spm.SentencePieceProcessor(model_proto=model)


# ---- timing ----

def translator(folder, compute, inter, intra):
    import ctranslate2
    known = ctranslate2.get_supported_compute_types("cpu")
    if compute not in known:
        raise SystemExit(f"--compute {compute}: CTranslate2 {ctranslate2.__version__} on this CPU offers {', '.join(sorted(known))}")
    return ctranslate2.Translator(folder, device="cpu", compute_type=compute, inter_threads=inter, intra_threads=intra)


def one_pass(t, tokens, batch, o, penalty):
    size, kind = batch
    begun = time.perf_counter()
    out = t.translate_batch(tokens, beam_size=o.beam, max_batch_size=size, batch_type=kind, length_penalty=penalty,
                            max_decoding_length=max(map(len, tokens)) + 50)
    return time.perf_counter() - begun, [r.hypotheses[0] for r in out]


def timed(t, tokens, batch, o, penalty):
    """Sentences a second over whole passes of at least o.seconds, and the output."""
    spent = passes = 0
    while spent < o.seconds:
        took, out = one_pass(t, tokens, batch, o, penalty)
        spent, passes = spent + took, passes + 1
    return passes * len(tokens) / spent, out


def measure(o, c, sp, folder):
    import ctranslate2
    with open(o.src, encoding="utf-8") as f:
        tokens = sp.encode(f.read().splitlines(), out_type=str)
    n = statistics.mean(len(s) + 1 for s in tokens)
    penalty = o.penalty if o.penalty is not None else o.alpha * n / (5 + n)
    ways = [(i, o.threads // i) for i in range(1, o.threads + 1) if o.threads % i == 0]
    tried = []
    for inter, intra in ways[:1] if o.quick else ways:
        t = translator(folder, o.compute, inter, intra)
        one_pass(t, tokens[:64], (32, "examples"), o, penalty)
        for batch in BATCHES[1:2] if o.quick else BATCHES:
            tried.append((timed(t, tokens, batch, o, penalty)[0], inter, intra, batch))
    _, inter, intra, batch = max(tried)
    t = translator(folder, o.compute, inter, intra)
    runs = [timed(t, tokens, batch, o, penalty) for _ in range(o.repeats)]
    out = runs[0][1]
    if o.out:
        Path(o.out).write_text("".join(line + "\n" for line in sp.decode(out)), encoding="utf-8")
    rate = statistics.median(r for r, _ in runs)
    produced = sum(len(h) + 1 for h in out)
    return dict(who=f"ctranslate2 {ctranslate2.__version__}", compute=o.compute, beam=o.beam, penalty=round(penalty, 4),
                sentences=len(tokens), sentences_per_s=round(rate, 2), target_tokens_per_s=round(rate * produced / len(tokens), 1),
                target_tokens=produced,
                inter_threads=inter, intra_threads=intra, batch=f"{batch[0]} {batch[1]}", repeats=[round(r, 2) for r, _ in runs],
                tried={f"{i}x{j} {b[0]} {b[1]}": round(r, 1) for r, i, j, b in tried}, out=o.out)


# ---- is it the same model? ----

def check(o, c, params, sp, folder):
    """Greedy by both; the scores of CTranslate2's output by the oracle. Prints the differences; true when there is none that matters."""
    import torch
    from model import Transformer, pad
    with open(o.src, encoding="utf-8") as f:
        lines = f.read().splitlines()[:50]
    tokens, ids = sp.encode(lines, out_type=str), sp.encode(lines)
    results = translator(folder, "float32", 1, o.threads).translate_batch(tokens, beam_size=1, return_scores=True, length_penalty=0,
                                                                       max_decoding_length=80)
    oracle = Transformer(c, params)
    source = pad([s + [c.eos] for s in ids])
    want = oracle.greedy(source, 80)
    same, worst = 0, 0.0
    for row, result, greedy in zip(source, results, want):
        got = [sp.piece_to_id(p) for p in result.hypotheses[0]] + [c.eos] * (len(result.hypotheses[0]) < 80)
        same += got == greedy
        with torch.no_grad():
            z = oracle.logits(row[row >= 0][None], torch.tensor([[c.bos] + got[:-1]]))[0]
        score = z.log_softmax(-1).gather(1, torch.tensor(got)[:, None]).sum().item()
        worst = max(worst, abs(score - result.scores[0]) / max(1, abs(score)))
    print(f"greedy: {same} of {len(want)} sentences equal; log-probability off by {worst:.1e} at most (relative)")
    return same >= len(want) - 1 and worst < 1e-4


def main():
    o = arguments()
    os.environ.setdefault("OMP_NUM_THREADS", str(o.threads))
    from model import load
    c, params, meta = load(o.model)
    sp = vocabulary(meta)
    pieces = [sp.id_to_piece(i) for i in range(sp.get_piece_size())]
    with tempfile.TemporaryDirectory() as folder:
        convert(c, params, pieces, folder)
        if o.check:
            raise SystemExit(0 if check(o, c, params, sp, folder) else "not the same model")
        print(json.dumps(measure(o, c, sp, folder)))


if __name__ == "__main__":
    main()
