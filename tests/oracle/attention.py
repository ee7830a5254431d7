#!/usr/bin/env python3
"""Writes golden/attention.txt: small attentions and positional encodings, one formula each. Format: golden/README.md.

Everything happens per head on q, k, v [B, H, T, d] that are projected already; i is a query's position, j a key's, both
from 0. Causal: j <= i. The figures are computed in fp64.

usage: attention.py [FILE]
"""
import math
import sys
from pathlib import Path

import torch

from model import hashed_tensor

B, H, T, D = 2, 2, 5, 4
CLIP, RADIUS, BASE = 2, 1, 10000.0
CAUSAL = torch.ones(T, T, dtype=torch.bool).tril()
EVERY = torch.ones(T, T, dtype=torch.bool)
DISTANCE = torch.arange(T)[None, :] - torch.arange(T)[:, None]          # j - i, [query, key]

INPUTS = {                              # name: (number of the stream, shape); element j is uniform(stream, j)
    "q": (0, (B, H, T, D)),
    "k": (1, (B, H, T, D)),
    "v": (2, (B, H, T, D)),
    "w": (3, (H, D)),                   # additive attention: one vector per head
    "rel_k": (4, (2 * CLIP + 1, D)),    # Shaw et al.: row clip(j - i) + CLIP, shared by the heads
    "rel_v": (5, (2 * CLIP + 1, D)),
}


def softmax(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def dot(q, k, v, mask, scale, bias=0.0):
    """softmax(scale q k' + bias) v"""
    return softmax(scale * (q @ k.transpose(-1, -2)) + bias, mask) @ v


def rotary(x):
    """Halves convention: (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin), angle = position * BASE^(-2 i / d), i < d / 2."""
    angle = torch.arange(T, dtype=x.dtype)[:, None] * BASE ** (-2 * torch.arange(D // 2, dtype=x.dtype) / D)
    a, b = x.split(D // 2, -1)
    return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)


def alibi():
    """2^(-8 (h + 1) / H) (j - i), [H, query, key]: 0 or less for the past."""
    slope = 2.0 ** (-8.0 * (torch.arange(H, dtype=torch.float64) + 1) / H)
    return slope[:, None, None] * DISTANCE


def shaw(q, k, v, rel_k, rel_v, mask):
    """Scores q_i (k_j + a_ij) / sqrt(d), output sum_j p_ij (v_j + b_ij); a, b = rows of rel_k, rel_v."""
    a, b = (r[DISTANCE.clamp(-CLIP, CLIP) + CLIP] for r in (rel_k, rel_v))          # [query, key, d]
    scores = q @ k.transpose(-1, -2) + torch.einsum("bhid,ijd->bhij", q, a)
    p = softmax(scores / math.sqrt(D), mask)
    return p @ v + torch.einsum("bhij,ijd->bhid", p, b)


def additive(q, k, v, w, mask):
    """Scores w . tanh(q_i + k_j) (Bahdanau et al.; q and k are the two projections), not scaled."""
    scores = (torch.tanh(q[..., :, None, :] + k[..., None, :, :]) * w[:, None, None, :]).sum(-1)
    return softmax(scores, mask) @ v


def linear(q, k, v, mask):
    """Weights phi(q_i) . phi(k_j), normalised to 1 over the keys seen; phi(x) = elu(x) + 1 (Katharopoulos et al.)."""
    phi = lambda x: torch.nn.functional.elu(x) + 1
    p = (phi(q) @ phi(k).transpose(-1, -2)) * mask
    return (p / p.sum(-1, keepdim=True)) @ v


def outputs(x):
    q, k, v = x["q"], x["k"], x["v"]
    s, near = 1 / math.sqrt(D), DISTANCE.abs() <= RADIUS
    for name, mask in (("causal", CAUSAL), ("full", EVERY)):
        yield f"scaled_dot_{name}", dot(q, k, v, mask, s)
        yield f"dot_{name}", dot(q, k, v, mask, 1.0)
        yield f"rotary_{name}", dot(rotary(q), rotary(k), v, mask, s)
        yield f"alibi_{name}", dot(q, k, v, mask, s, alibi())
        yield f"shaw_{name}", shaw(q, k, v, x["rel_k"], x["rel_v"], mask)
        yield f"additive_{name}", additive(q, k, v, x["w"], mask)
        yield f"linear_{name}", linear(q, k, v, mask)
        yield f"restricted_{name}", dot(q, k, v, mask & near, s)
    yield "rotary_q", rotary(q)
    yield "alibi_bias", alibi()


def worked_example():
    """The classic example, where Q = K = V have the rows (1,2) .. (9,10) and d_k = 2. Yields the output and the first
    row of weights."""
    x = torch.arange(1.0, 11.0, dtype=torch.float64).reshape(5, 2)
    p = (x @ x.T / math.sqrt(2)).softmax(-1)
    yield "example_output", p @ x
    yield "example_weights", p[:1]


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "golden" / "attention.txt"
    x = {name: hashed_tensor(p, shape).double() for name, (p, shape) in INPUTS.items()}
    lines = ["# made by tests/oracle/attention.py; format: README.md in this folder",
             f"config B {B} H {H} T {T} d {D} clip {CLIP} radius {RADIUS} base {BASE:g}"]

    def add(kind, name, t):
        lines.append(f"{kind} {name} {t.dim()} " + " ".join(map(str, t.shape)) + "  " +
                     " ".join(f"{v:.9g}" for v in t.flatten().tolist()))

    for name, t in x.items():
        add("in", name, t)
    for name, t in outputs(x):
        add("out", name, t)
    for name, t in worked_example():
        add("out", name, t)
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
