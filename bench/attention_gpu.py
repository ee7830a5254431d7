#!/usr/bin/env python3
"""Times PyTorch's attention alone on a GPU on recorded batch lengths, forward and backward; prints one line of JSON per kernel and role.

usage: attention_gpu.py --lengths FILE [--roles encoder,decoder,cross] [--kernels cudnn,flash,efficient,varlen] [--heads 8] [--d-k 64]

  cudnn, flash, efficient, math   F.scaled_dot_product_attention with that backend, on [B, h, T, d_k]: every batch padded to its
                                  longest sentence. No mask is passed, so that each backend can use its fastest kernel; time spent on
                                  padding is lost, as in a model
  varlen                          torch.nn.attention.varlen on packed rows
Tensors are bf16 views of one q, k, v projection, as in a model; every batch has its own, so that caches are cold. Times are the median of
passes over all batches, divided by the number of batches. Only scores of real tokens count, as in `ablate-bench attention`.
"""
import argparse
import json
import os
import statistics
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from train_gpu import CAUSAL, varlen_attn
from train_torch import read_lengths

BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION,
            "math": SDPBackend.MATH}


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--lengths", required=True)
    a.add_argument("--roles", default="encoder,decoder,cross")
    a.add_argument("--kernels", default="cudnn,flash,efficient,varlen")
    a.add_argument("--heads", type=int, default=8)
    a.add_argument("--d-k", type=int, default=64)
    a.add_argument("--device", default="cuda")
    a.add_argument("--seconds", type=float, default=0.5, help="minimum timed seconds per direction")
    return a.parse_args()


class Call:
    """The tensors of one batch: q, k, v as views of projections. They are leaves, so that the backward pass ends in
    attention's own kernels."""

    def __init__(self, o, batch, role, packed, generator):
        side = {"encoder": (0, 0), "decoder": (1, 1), "cross": (1, 0)}[role]
        lengths = [[p[i] for p in batch] for i in side]
        self.longest = [max(n) for n in lengths]
        self.causal = role == "decoder"
        rows = lambda i: (sum(lengths[i]),) if packed else (len(batch), self.longest[i])
        make = lambda *shape: torch.randn(*shape, generator=generator, device=o.device, dtype=torch.bfloat16)
        q_parts = 1 if role == "cross" else 3
        projections = [make(*rows(0), q_parts, o.heads, o.d_k)]
        if role == "cross":
            projections.append(make(*rows(1), 2, o.heads, o.d_k))
        parts = [p for x in projections for p in x.unbind(-3)]
        self.qkv = [(p if packed else p.transpose(1, 2)).detach().requires_grad_() for p in parts]
        self.cu = [torch.tensor([0] + n, device=o.device).cumsum(0).to(torch.int32) for n in lengths]
        self.dy = make(*self.qkv[0].shape)

    def forward(self, packed):
        if packed:
            return varlen_attn(*self.qkv, *self.cu, *self.longest, **(CAUSAL if self.causal else {}))
        return F.scaled_dot_product_attention(*self.qkv, is_causal=self.causal)


def scores(batches, role):
    one = {"encoder": lambda s, t: s * s, "decoder": lambda s, t: t * (t + 1) / 2, "cross": lambda s, t: s * t}[role]
    return sum(one(s, t) for b in batches for s, t in b) / len(batches)


def timed(o, calls, work):
    """Milliseconds per batch."""
    sync = torch.cuda.synchronize if o.device != "cpu" else lambda: None
    times = []
    for i in range(1000):
        sync()
        t0 = time.perf_counter()
        for c in calls:
            work(c)
        sync()
        times.append(time.perf_counter() - t0)
        if i > 4 and sum(times[3:]) > o.seconds:
            break
    return 1e3 * statistics.median(times[3:]) / len(calls)


def measure(o, batches, role, name):
    packed = name == "varlen"
    g = torch.Generator(device=o.device).manual_seed(1)
    calls = [Call(o, b, role, packed, g) for b in batches]

    def forward(c):
        c.y = c.forward(packed)

    def backward(c):
        c.grad = torch.autograd.grad(c.y, c.qkv, c.dy, retain_graph=True)

    with sdpa_kernel([BACKENDS[name]] if not packed else list(BACKENDS.values())):
        there = timed(o, calls, forward)
        back = timed(o, calls, backward)
    n = scores(batches, role)
    flops = 4 * n * o.heads * o.d_k
    return dict(forward_ms=round(there, 5), backward_ms=round(back, 5), scores=round(n, 1), forward_gflops=round(flops / there * 1e-6, 1),
                backward_gflops=round(2.5 * flops / back * 1e-6, 1))


def main():
    o = arguments()
    batches = read_lengths(o.lengths)
    for role in o.roles.split(","):
        for name in o.kernels.split(","):
            out = dict(who=f"torch {torch.__version__}", what="attention", role=role, mode=name, heads=o.heads, d_k=o.d_k,
                       batches=len(batches), lengths=os.path.basename(o.lengths))
            try:
                out.update(measure(o, batches, role, name))
            # this backend refuses the shapes; the others continue
            except Exception as x:
                out["error"] = f"{type(x).__name__}: {str(x).splitlines()[0][:300] if str(x) else ''}"
            print(json.dumps(out), flush=True)
            if o.device != "cpu":
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
