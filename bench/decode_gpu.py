#!/usr/bin/env python3
"""Times PyTorch beam search on a GPU with random weights; prints one line of JSON per mode. The rival of `ablate-bench decode`.

usage: decode_gpu.py --lengths FILE --config base [--beam 4] [--batch 256] [--modes graph,eager] [--seconds S]

As there: bf16, sources of the recorded lengths, longest first, outputs as long as their source (EOS is made impossible). Keys and values are
cached, those of the encoder's output once per sentence; a step takes the 2 * beam best continuations.
graph: a step is one CUDA graph per batch, captured in an untimed pass. eager: kernel by kernel, attention over the past steps only.
"""
import argparse
import json
import math
import statistics
import time

import torch
import torch.nn.functional as F

import rival
from train_gpu import SIZES, Size, to_device
from train_torch import read_lengths

EOS = 2


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--lengths", required=True)
    a.add_argument("--config", choices=SIZES, default="base")
    a.add_argument("--vocab", type=int, default=0)
    a.add_argument("--beam", type=int, default=4)
    a.add_argument("--batch", type=int, default=256, help="sentences")
    a.add_argument("--modes", default="graph,eager")
    a.add_argument("--device", default="cuda")
    a.add_argument("--seconds", type=float, default=3)
    return a.parse_args()


def split_heads(x, parts, heads):
    """[.., T, parts d] -> parts tensors [.., h, T, d_k]"""
    return [y.transpose(-3, -2) for y in x.unflatten(-1, (parts, heads, -1)).unbind(-3)]


class Batch:
    """The source of a batch, and the memory of its search. Row b * beam + i is hypothesis i of sentence b."""

    def __init__(self, o, model, lengths, generator):
        s, device = model.s, o.device
        self.beam, self.n, self.steps = o.beam, len(lengths), max(lengths) - 1
        rows, cap = self.n * o.beam, self.steps
        self.source = to_device(rival.Side(lengths, s.vocab, False, torch.bfloat16, generator, True), device)
        empty = lambda *shape, dtype=torch.bfloat16: torch.zeros(*shape, dtype=dtype, device=device)
        self.cache = empty(s.layers, 2, rows, s.heads, cap, s.d_model // s.heads)
        self.tokens, self.time = empty(rows, dtype=torch.int64), empty(1, dtype=torch.int64)
        self.score = empty(self.n, o.beam, dtype=torch.float32)
        self.parents, self.outputs = empty(rows, dtype=torch.int64), empty(rows, cap, dtype=torch.int64)
        self.first_row = (torch.arange(self.n, device=device) * o.beam)[:, None]
        self.places = torch.arange(cap, device=device)
        self.cross, self.graph = None, None

    def restart(self):
        self.tokens.fill_(1)
        self.time.zero_()
        self.score.fill_(-1e9)
        self.score[:, 0] = 0                                              # all hypotheses begin alike
        self.parents.copy_(torch.arange(self.n * self.beam, device=self.parents.device))


def encode(model, b):
    x = model.start(b.source)
    for layer in model.encoder:
        x = layer(x, b.source)
    x = x.view(b.n, -1, x.shape[-1])
    made = [split_heads(layer.cross.kv(x), 2, model.s.heads) for layer in model.decoder]
    if b.cross is None:
        b.cross = [[y.contiguous() for y in kv] for kv in made]
    else:                                                                 # copies into the tensors that the graph reads
        for old, new in zip(b.cross, made):
            for to, y in zip(old, new):
                to.copy_(y)


def step(model, b, t):
    """t: the step's number, so that the past is cut to its length; None: all of the cache is read, under a mask."""
    s, rows = model.s, b.tokens.shape[0]
    x = model.embed(b.tokens) * math.sqrt(s.d_model) + model.table[b.time].to(torch.bfloat16)
    b.cache.copy_(b.cache.index_select(2, b.parents)) if t is None else b.cache[..., :t, :].copy_(b.cache[..., :t, :].index_select(2, b.parents))
    mask = (b.places <= b.time)[None, None, None] if t is None else None
    for i, layer in enumerate(model.decoder):
        q, k, v = split_heads(layer.self_attention.qkv(x)[:, None], 3, s.heads)
        for kept, new in zip(b.cache[i], (k, v)):
            kept.index_copy_(2, b.time, new)
        keys, values = b.cache[i] if t is None else b.cache[i, ..., :t + 1, :]
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask).transpose(1, 2).reshape(rows, -1)
        x = layer.norm1(x + layer.self_attention.o(y))
        q = split_heads(layer.cross.q(x).view(b.n, b.beam, -1), 1, s.heads)[0]
        y = F.scaled_dot_product_attention(q, *b.cross[i], attn_mask=b.source.mask).transpose(1, 2).reshape(rows, -1)
        x = layer.norm2(x + layer.cross.o(y))
        x = layer.norm3(x + layer.ffn2(F.relu(layer.ffn1(x))))
    logits = F.linear(x, model.embed.weight)
    logits[:, EOS] = -math.inf
    # the best of each row; the others need no rank
    best, ids = logits.topk(2 * b.beam)
    p = best.float() - logits.float().logsumexp(1, keepdim=True)
    score, place = (b.score[:, :, None] + p.view(b.n, b.beam, -1)).flatten(1).topk(2 * b.beam)
    score, place = score[:, :b.beam], place[:, :b.beam]
    b.score.copy_(score)
    b.parents.copy_((b.first_row + place // (2 * b.beam)).flatten())
    b.tokens.copy_(ids.view(b.n, -1).gather(1, place).flatten())
    b.outputs.copy_(b.outputs.index_select(0, b.parents))
    b.outputs.index_copy_(1, b.time, b.tokens[:, None])
    b.time += 1


def decode(model, b, graph):
    encode(model, b)
    b.restart()
    if graph and b.graph is None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(min(2, b.steps)):
                step(model, b, None)
        torch.cuda.current_stream().wait_stream(side)
        b.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(b.graph):
            step(model, b, None)
        b.restart()
    for t in range(b.steps):
        b.graph.replay() if graph else step(model, b, t)
    return b.outputs.view(b.n, b.beam, -1)[:, 0].tolist()                  # the best hypothesis; waits for the GPU


@torch.no_grad()
def measure(o, mode, sentences):
    size = SIZES[o.config] if not o.vocab else Size(**{**SIZES[o.config].__dict__, "vocab": o.vocab})
    torch.manual_seed(1)
    model = rival.Model(size).to(o.device, torch.bfloat16).eval()
    g = torch.Generator().manual_seed(1)
    lengths = sorted((n for n in sentences if n > 1), reverse=True)
    batches = [Batch(o, model, lengths[i:i + o.batch], g) for i in range(0, len(lengths), o.batch)]
    tokens, times = sum(lengths) - len(lengths), []
    while len(times) < 3 or sum(times[1:]) < o.seconds:
        t0 = time.perf_counter()
        for b in batches:
            out = decode(model, b, mode == "graph")
        times.append(time.perf_counter() - t0)
    assert all(EOS not in row for row in out)
    seconds = statistics.median(times[1:])
    return dict(sentences=len(lengths), target_tokens=tokens, passes=len(times) - 1, seconds=round(seconds, 4), first_s=round(times[0], 3),
                target_tokens_per_s=round(tokens / seconds, 1), sentences_per_s=round(len(lengths) / seconds, 2),
                steps=sum(b.steps for b in batches))


def main():
    o = arguments()
    sentences = [s for b in read_lengths(o.lengths) for s, _ in b]
    for mode in o.modes.split(","):
        out = dict(who=f"torch {torch.__version__}", what="decode", config=o.config, mode=mode, beam=o.beam, batch=o.batch)
        try:
            out.update(measure(o, mode, sentences))
        except Exception as x:                                            # this mode failed; the others may work
            out["error"] = f"{type(x).__name__}: {str(x).splitlines()[0][:300] if str(x) else ''}"
        print(json.dumps(out), flush=True)
        if o.device != "cpu":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
