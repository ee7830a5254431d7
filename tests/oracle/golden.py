#!/usr/bin/env python3
"""Writes the golden numbers of the model: golden/{post,pre,odd,others}.txt. Their format: golden/README.md.

usage: golden.py [FOLDER]
"""
import math
import sys
from pathlib import Path

import torch

from model import BOS, EOS, Config, Transformer, hashed, pad, shapes, splitmix64, uniform

CONFIGS = {
    "post": Config(),
    "pre": Config(norm="pre"),
    "odd": Config(d_model=20, d_ff=36, heads=3, d_k=5, d_v=7),
    "others": Config(smoothing="others", label_smoothing=0.2),
}
SRC_LENGTHS = [7, 3, 11, 5, 9, 4, 6]
TGT_LENGTHS = [6, 2, 9, 3, 8, 7, 4]
SAMPLES, GREEDY = 16, 12
STEPS, WARMUP, SCALE = 10, 10, 0.5      # with scale 1, ten steps are so large that fp32 and fp64 differ by 1e-4
BEAM, ALPHA, LONGER = 4, 1.0, 20         # an output has at most LONGER tokens more than its source


def batch(vocab):
    """Returns three lists of id lists: source, decoder input, decoder output. Source and output end in EOS; the input
    starts with BOS."""
    word = lambda p, i, j: 3 + splitmix64(p * 1000003 + i * 100 + j) % (vocab - 3)
    side = lambda p, lengths: [[word(p, i, j) for j in range(n - 1)] + [EOS] for i, n in enumerate(lengths)]
    src, out = side(901, SRC_LENGTHS), side(902, TGT_LENGTHS)
    return src, [[BOS] + o[:-1] for o in out], out


def model_of(c, dtype):
    return Transformer(c, {n: t.to(dtype).requires_grad_() for n, t in hashed(c).items()})


def gradients(c, dtype, ids):
    m = model_of(c, dtype)
    loss, ce, z = m.losses(*ids)
    loss.backward()
    return m, loss.item(), ce.item(), (z.double() ** 2).sum().item()


def training(c, dtype, ids):
    """Trains with STEPS updates of Adam on one batch. Returns the model and [(learning rate, loss before the
    update)]."""
    m = model_of(c, dtype)
    opt = torch.optim.Adam(m.p.values(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
    out = []
    for s in range(1, STEPS + 1):
        lr = SCALE * c.d_model**-0.5 * min(s**-0.5, s * WARMUP**-1.5)
        opt.param_groups[0]["lr"] = lr
        opt.zero_grad()
        loss = m.losses(*ids)[0]
        loss.backward()
        opt.step()
        out.append((lr, loss.item()))
    return frozen(m), out


def frozen(m):
    return Transformer(m.c, {n: t.detach() for n, t in m.p.items()})


def translations(m, rows):
    """Beam search for each sentence alone. Returns [(best ids, score)]."""
    return [m.beam(pad([r]), BEAM, ALPHA, len(r) + LONGER) for r in rows]


def projection(p, g):
    """sum_j u(5000 + p, j) g_j: an error in any element changes it, which a norm or a few samples may miss."""
    return sum(uniform(5000 + p, j) * x for j, x in enumerate(g.flatten().tolist()))


def samples(p, n):
    """Returns SAMPLES of the indices below n, in order; all of them if n is smaller."""
    picked = {splitmix64((7000 + p) * 1000003 + k) % n for k in range(SAMPLES)} if n > SAMPLES else range(n)
    return sorted(picked)


def relative(a, b):
    return ((a.double() - b.double()).norm() / b.double().norm()).item()


def write(name, c, folder):
    rows = batch(c.vocab)
    ids = [pad(x) for x in rows]
    m, loss, ce, z2 = gradients(c, torch.float64, ids)
    m32, loss32, ce32, z232 = gradients(c, torch.float32, ids)
    m16 = model_of(c, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        loss16 = m16.losses(*ids)[0]
    loss16.backward()
    g9 = lambda x: f"{x:.9g}"
    out = ["# made by tests/oracle/golden.py; format: README.md in this folder"]
    out.append(f"config {name} vocab {c.vocab} d_model {c.d_model} d_ff {c.d_ff} heads {c.heads} d_k {c.d_k} d_v {c.d_v} "
               f"layers {c.layers} norm {c.norm} smoothing {c.smoothing} label_smoothing {c.label_smoothing} "
               f"warmup {WARMUP} lr_scale {SCALE:g} beta1 0.9 beta2 0.98 eps 1e-9 beam {BEAM} alpha {ALPHA} longer {LONGER}")
    out.append(f"batch {len(rows[0])}")
    for kind, side in zip(("src", "in", "out"), rows):
        out += [f"{kind} {i} {len(r)} " + " ".join(map(str, r)) for i, r in enumerate(side)]
    for key, a, b in (("loss", loss, loss32), ("ce", ce, ce32), ("ppl", math.exp(ce), math.exp(ce32)), ("logits2", z2, z232)):
        out.append(f"value {key} {g9(a)} {g9(b)}")
    (after, t64), (after32, t32) = training(c, torch.float64, ids), training(c, torch.float32, ids)
    for s, ((lr, a), (_, b)) in enumerate(zip(t64, t32), 1):
        out.append(f"step {s} {g9(lr)} {g9(a)} {g9(b)}")
    for key, model in (("greedy", frozen(m)), ("trained_greedy", after)):
        for i, row in enumerate(model.greedy(ids[0], GREEDY)):
            out.append(f"{key} {i} {len(row)} " + " ".join(map(str, row)))
    found = translations(after, rows[0])
    if [r for r, _ in found] != [r for r, _ in translations(after32, rows[0])] or \
            after.greedy(ids[0], GREEDY) != after32.greedy(ids[0], GREEDY):
        raise SystemExit(f"{name}: fp32 and fp64 decode differently after training: too near a tie to be golden")
    for i, (row, score) in enumerate(found):
        out.append(f"trained_beam {i} {g9(score)} {len(row)} " + " ".join(map(str, row)))
    worst32 = worst16 = 0.0
    for p, (pname, shape) in enumerate(shapes(c)):
        w, g = m.p[pname].detach(), m.p[pname].grad
        worst32 = max(worst32, relative(m32.p[pname].grad, g))
        worst16 = max(worst16, relative(m16.p[pname].grad, g))
        size = " ".join(map(str, shape if len(shape) == 2 else (1,) + shape))
        flat, gflat = w.flatten(), g.flatten()
        out.append(f"param {p} {pname} {size} {g9(flat.norm())} {g9(flat.sum())} {g9(flat[0])} {g9(flat[-1])}")
        picked = " ".join(f"{j}:{g9(gflat[j])}" for j in samples(p, gflat.numel()))
        out.append(f"grad {p} {pname} {size} {g9(gflat.norm())} {g9(gflat.sum())} {g9(projection(p, g))} {picked}")
    drift = max(abs(a - b) / abs(a) for (_, a), (_, b) in zip(t64, t32))
    print(f"{name}: loss {loss:.9g} ce {ce:.9g} fp32 loss off by {abs(loss32 - loss) / loss:.1e}, worst gradient tensor {worst32:.1e}, "
          f"{STEPS} steps {drift:.1e}; bf16 autocast loss {abs(loss16.item() - loss) / loss:.1e}, worst gradient tensor {worst16:.1e}")
    (folder / f"{name}.txt").write_text("\n".join(out) + "\n")


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "golden"
    torch.set_num_threads(1)
    for name, c in CONFIGS.items():
        write(name, c, folder)


if __name__ == "__main__":
    main()
