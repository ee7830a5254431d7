#!/usr/bin/env python3
"""Times decoding of CTranslate2 and ablate with the same checkpoint and sentences, in fp32 and int8, in turn; prints lines of JSON.

usage: decode_ct2.py --model CHECKPOINT --src FILE [--ref FILE] [--ablate PROGRAM] [--beam 4] [--alpha 0.6] [--threads 2]
       decode_ct2.py --model CHECKPOINT --src FILE --check     greedy output and scores against tests/oracle/model.py

For CTranslate2, every distribution of the threads and every batch size is tried, and the fastest counts (--only 2x1:64 takes one: two streams of
one thread, 64 sentences; --only 2x1:1024t: 1,024 tokens; --only 2x1: all batch sizes). Then both programs decode in turn, --repeats times; medians count.
Both are timed on token ids, in whole passes over the file, without loading, subword splitting and joining.
Latency: the first --alone sentences one by one; CTranslate2 with one thread and with all, of which the faster counts; ablate with one.
The last line has the ratios.

Length penalty: ablate divides a log-probability by ((5 + n) / 6)^alpha, CTranslate2 by n^penalty. With penalty = alpha n / (5 + n), the default
of --penalty, both have the same slope in log n at n = the mean source length. The hypotheses of the two programs differ slightly, so compare BLEU
and lengths as well as sentences per second.
"""
import argparse
import base64
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "oracle"))
BATCHES = ((16, "examples"), (32, "examples"), (64, "examples"), (128, "examples"), (1024, "tokens"), (2048, "tokens"))


PRECISIONS = {"fp32": "float32", "int8": "int8"}  # ablate's name of a precision, and CTranslate2's


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--model", required=True)
    a.add_argument("--src", required=True, help="text, one sentence per line")
    a.add_argument("--ref", help="reference translations: BLEU by `ablate score bleu`")
    a.add_argument("--tok", default="13a", help="tokeniser of BLEU")
    a.add_argument("--out", help="a folder for the translations")
    a.add_argument("--ablate", default="./ablate", help="the program")
    a.add_argument("--precisions", default="fp32,int8")
    a.add_argument("--beam", type=int, default=4)
    a.add_argument("--alpha", type=float, default=0.6)
    a.add_argument("--penalty", type=float, help="CTranslate2's length penalty, instead of the one computed from alpha")
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--seconds", type=float, default=5, help="minimum time for each setting of CTranslate2 and each repeat")
    a.add_argument("--repeats", type=int, default=3)
    a.add_argument("--only", help="one setting of CTranslate2, INTERxINTRA:SENTENCES or INTERxINTRA:TOKENSt; one per precision, separated by a comma")
    # with --repeats 0 only these sentences are timed
    a.add_argument("--alone", type=int, default=50, help="sentences decoded one by one for the latency; 0: none")
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
        raise SystemExit(f"compute type {compute}: CTranslate2 {ctranslate2.__version__} on this CPU offers {', '.join(sorted(known))}")
    return ctranslate2.Translator(folder, device="cpu", compute_type=compute, inter_threads=inter, intra_threads=intra)


def one_pass(t, tokens, batch, o, penalty):
    size, kind = batch
    begun = time.perf_counter()
    out = t.translate_batch(tokens, beam_size=o.beam, max_batch_size=size, batch_type=kind, length_penalty=penalty,
                            max_decoding_length=max(map(len, tokens)) + 50)
    return time.perf_counter() - begun, [r.hypotheses[0] for r in out]


def timed(t, tokens, batch, o, penalty):
    """Sentences per second over whole passes of at least o.seconds, and the output."""
    spent = passes = 0
    while not passes or spent < o.seconds:
        took, out = one_pass(t, tokens, batch, o, penalty)
        spent, passes = spent + took, passes + 1
    return passes * len(tokens) / spent, out


def ways_of(o, index):
    """The ways to run CTranslate2 that are tried: [(inter threads, intra threads, (batch size, kind))]."""
    if not o.only:
        return [(i, o.threads // i, b) for i in range(1, o.threads + 1) if o.threads % i == 0 for b in BATCHES]
    only = o.only.split(",")
    inter, intra, _, size, kind = re.fullmatch(r"(\d+)x(\d+)(:(\d+)(t?))?", only[min(index, len(only) - 1)]).groups()
    return [(int(inter), int(intra), b) for b in BATCHES] if not size else [(int(inter), int(intra), (int(size), "tokens" if kind else "examples"))]


def fastest(o, compute, index, tokens, folder, penalty):
    """CTranslate2's fastest way, its translator, and the speed of each way."""
    tried, ways, t, made = {}, ways_of(o, index), None, None
    for inter, intra, batch in ways:
        if made != (inter, intra):
            t, made = translator(folder, compute, inter, intra), (inter, intra)
            one_pass(t, tokens[:64], (32, "examples"), o, penalty)
        if len(ways) == 1:
            break
        tried[inter, intra, batch] = timed(t, tokens, batch, o, penalty)[0]
        print(f"{compute} {inter}x{intra} {batch[0]} {batch[1]}: {tried[inter, intra, batch]:.1f}", file=sys.stderr, flush=True)
    inter, intra, batch = max(tried, key=tried.get) if tried else ways[0]
    t = t if made == (inter, intra) else translator(folder, compute, inter, intra)
    return t, (inter, intra, batch), tried


def ablate(o, precision, lines, threads, *more):
    """Seconds in beam search, tokens of the outputs with EOS, and the outputs."""
    run = subprocess.run([o.ablate, "translate", "--model", o.model, "--beam-size", str(o.beam), "--length-penalty", str(o.alpha), "--threads", str(threads),
                          "--precision", precision, *more], input="".join(line + "\n" for line in lines), capture_output=True, text=True)
    told = re.search(r"(\d+) sentences, (\d+) tokens in ([0-9.]+) s: .*, (\w+)\n", run.stderr)
    if run.returncode or not told or told[4] != precision:
        raise SystemExit(f"{o.ablate} translate --precision {precision}: {run.stderr}")
    return float(told[3]), int(told[2]), run.stdout.splitlines()


def bleu(o, hypotheses):
    if not o.ref:
        return None
    told = subprocess.run([o.ablate, "score", "bleu", "--ref", o.ref, "--tok", o.tok, "--json"],
                          input="".join(line + "\n" for line in hypotheses), capture_output=True, text=True, check=True)
    return round(json.loads(told.stdout)["score"], 2)


def latency(o, lines, tokens, precision, folder, penalty):
    """Milliseconds per sentence, one by one: (ablate, CTranslate2)."""
    n, theirs = o.alone, []
    for threads in sorted({1, o.threads}):
        t = translator(folder, PRECISIONS[precision], 1, threads)
        one_pass(t, tokens[:5], (1, "examples"), o, penalty)
        begun = time.perf_counter()
        for s in tokens[:n]:
            one_pass(t, [s], (1, "examples"), o, penalty)
        theirs.append((time.perf_counter() - begun) * 1e3 / n)
    ours = ablate(o, precision, lines[:n], 1, "--batch", "1")[0] * 1e3 / n
    return dict(what="one sentence alone", precision=precision, sentences=n, ablate_ms=round(ours, 2), ctranslate2_ms=round(min(theirs), 2),
                ctranslate2_threads={k: round(v, 2) for k, v in zip(sorted({1, o.threads}), theirs)})


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        facts = dict(line.split(":", 1) for line in f.read().split("\n\n")[0].replace("\t", "").splitlines() if ":" in line)
    return f"{facts['model name'].strip()}, family {facts['cpu family'].strip()}, model {facts['model'].strip()}"


def measure(o, sp, folder):
    import ctranslate2
    with open(o.src, encoding="utf-8") as f:
        lines = f.read().splitlines()
    tokens = sp.encode(lines, out_type=str)
    n = statistics.mean(len(s) + 1 for s in tokens)
    penalty = o.penalty if o.penalty is not None else o.alpha * n / (5 + n)
    precisions = o.precisions.split(",")
    shared = dict(processor=processor(), threads=o.threads, beam=o.beam, sentences=len(lines))
    best = {p: fastest(o, PRECISIONS[p], i, tokens, folder, penalty) for i, p in enumerate(precisions) if o.repeats}
    ours, theirs, texts = {p: [] for p in precisions}, {p: [] for p in precisions}, {}
    made = {}
    for _ in range(o.repeats):
        for p in precisions:
            t, (_, _, batch), _ = best[p]
            rate, out = timed(t, tokens, batch, o, penalty)
            theirs[p].append(rate)
            texts["ctranslate2", p], made["ctranslate2", p] = sp.decode(out), sum(len(h) + 1 for h in out)
            seconds, made["ablate", p], texts["ablate", p] = ablate(o, p, lines, o.threads)
            ours[p].append(len(lines) / seconds)
            print(f"{p}: ablate {ours[p][-1]:.1f}, CTranslate2 {rate:.1f} sentences a second", file=sys.stderr, flush=True)
    for p in precisions if o.repeats else ():
        _, (inter, intra, batch), tried = best[p]
        for who, rates in (("ablate", ours[p]), ("ctranslate2", theirs[p])):
            line = dict(who=who, precision=p, **shared, sentences_per_s=round(statistics.median(rates), 1), repeats=[round(r, 1) for r in rates],
                        target_tokens=made[who, p], bleu=bleu(o, texts[who, p]))
            if who == "ctranslate2":
                line.update(version=ctranslate2.__version__, penalty=round(penalty, 4), inter_threads=inter, intra_threads=intra,
                            batch=f"{batch[0]} {batch[1]}", tried={f"{i}x{j} {b[0]} {b[1]}": round(r, 1) for (i, j, b), r in tried.items()})
            print(json.dumps(line), flush=True)
            if o.out:
                (Path(o.out) / f"{who}.{p}").write_text("".join(x + "\n" for x in texts[who, p]), encoding="utf-8")
    alone = [latency(o, lines, tokens, p, folder, penalty) for p in precisions] if o.alone else []
    for line in alone:
        print(json.dumps(line), flush=True)
    ratios = {p: round(statistics.median(ours[p]) / statistics.median(theirs[p]), 3) for p in precisions if o.repeats}
    ratios.update({f"alone_{x['precision']}": round(x["ctranslate2_ms"] / x["ablate_ms"], 3) for x in alone})
    print(json.dumps(dict(what="ablate over ctranslate2", **ratios)))


# ---- comparison with ablate's outputs ----

def check(o, c, params, sp, folder):
    """Compares greedy outputs of both programs, and scores CTranslate2's by the oracle. Prints differences; returns
    True if none matters."""
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
        measure(o, sp, folder)


if __name__ == "__main__":
    main()
