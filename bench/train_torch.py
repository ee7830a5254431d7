#!/usr/bin/env python3
"""Times PyTorch training on a CPU on recorded batch lengths, one mode per call; prints one line of JSON.

usage: train_torch.py --lengths FILE --config tiny|small|base|table3-quarter|table3-core --mode MODE [--seconds S] [--steps N]
       train_torch.py --check            compares loss and gradients with tests/oracle/model.py

A mode is PRECISION-HOW[-LAYOUT][-ATTENTION][-chunked], for example bf16-compile-packed:
  PRECISION  fp32; medium (fp32 tensors, bf16 products inside); autocast (bf16); bf16 (bf16 weights, fp32 master weights in Adam)
  HOW        eager, compile
  LAYOUT     padded (default), packed
  ATTENTION  sdpa (default), sdpa32, math: see rival.py
  chunked    F.linear_cross_entropy instead of F.linear and F.cross_entropy
A step: learning rate, forward with dropout, backward, fused Adam, on a batch whose tensors exist already. Padding does not count.
"""
import argparse
import glob
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

import torch

from rival import ATTENTIONS, SIZES, Model, Side, Size

PRECISIONS = ("fp32", "medium", "autocast", "bf16")


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--lengths", help="one batch per line: src:tgt src:tgt ...")
    a.add_argument("--config", choices=SIZES, default="tiny")
    a.add_argument("--mode", default="bf16-compile")
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--warmup", type=int, default=12, help="steps before the clock starts (compiles)")
    a.add_argument("--steps", type=int, default=20, help="minimum timed steps")
    a.add_argument("--seconds", type=float, default=10, help="minimum timed seconds")
    a.add_argument("--untuned", action="store_true", help="without the tuned allocator and OpenMP")
    a.add_argument("--check", action="store_true")
    return a.parse_args()


def tuned():
    """Starts this program again with PyTorch's usual CPU tuning: an allocator that keeps large blocks (1.3 to 1.9 times as fast at
    tiny) and Intel's OpenMP, where they are installed; glibc told to keep its blocks where tcmalloc is not."""
    if "RIVAL_TUNED" in os.environ:
        return
    found = [glob.glob(p) for p in ("/usr/lib/*/libtcmalloc_minimal.so.4", os.path.join(sys.prefix, "lib", "libiomp5.so"))]
    env = dict(os.environ, RIVAL_TUNED="1", MALLOC_MMAP_THRESHOLD_="4000000000", MALLOC_TRIM_THRESHOLD_="8000000000")
    env["LD_PRELOAD"] = ":".join(filter(None, [env.get("LD_PRELOAD")] + [f[0] for f in found if f]))
    os.execve(sys.executable, [sys.executable] + sys.argv, env)


def read_lengths(path):
    """Reads batches: [[(src, tgt), ...], ...]."""
    with open(path) as f:
        lines = [line.split("#")[0].split() for line in f]
    return [[tuple(map(int, pair.split(":"))) for pair in line] for line in lines if line]


class Mode:
    def __init__(self, text):
        precision, how, *rest = text.split("-")
        unknown = set(rest) - {"padded", "packed", "chunked", *ATTENTIONS}
        if precision not in PRECISIONS or how not in ("eager", "compile") or unknown:
            raise SystemExit(f"--mode {text}: expected {'|'.join(PRECISIONS)}-eager|compile[-padded|packed]"
                             f"[-{'|'.join(ATTENTIONS)}][-chunked]")
        self.precision, self.compiled = precision, how == "compile"
        self.packed, self.chunked = "packed" in rest, "chunked" in rest
        self.attention = next((w for w in rest if w in ATTENTIONS), "sdpa")
        self.dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        self.mask_dtype = torch.float32 if precision in ("fp32", "medium") else torch.bfloat16


class Trainer:
    """A mode's model and optimizer; step() trains once."""

    def __init__(self, size, mode):
        self.mode, self.size, self.t = mode, size, 0
        torch.set_float32_matmul_precision("medium" if mode.precision == "medium" else "highest")
        self.model = Model(size, chunked=mode.chunked, attention=mode.attention).to(mode.dtype)
        self.params = list(self.model.parameters())
        self.masters = self.params
        if mode.precision == "bf16":
            self.masters = [p.detach().float().requires_grad_() for p in self.params]
            for p in self.masters:
                p.grad = torch.zeros_like(p)
        self.adam = torch.optim.Adam(self.masters, lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
        self.forward = torch.compile(self.model, dynamic=True) if mode.compiled else self.model

    def step(self, source, target):
        self.t += 1
        self.adam.param_groups[0]["lr"] = self.size.d_model**-0.5 * min(self.t**-0.5, self.t * 4000**-1.5)
        for p in self.params:
            p.grad = None
        with torch.autocast("cpu", torch.bfloat16, enabled=self.mode.precision == "autocast"):
            loss = self.forward(source, target)
        loss.backward()
        if self.masters is not self.params:
            torch._foreach_copy_([p.grad for p in self.masters], [p.grad for p in self.params])
        self.adam.step()
        if self.masters is not self.params:
            with torch.no_grad():
                torch._foreach_copy_(self.params, self.masters)
        return loss.item()


def peak_rss():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def busy():
    """(CPU seconds of the whole machine, of this process): the growth of their difference is what other programs
    used."""
    with open("/proc/stat") as f:
        user, nice, system, _, _, irq, soft, steal = map(int, f.readline().split()[1:9])
    own = os.times()
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK"), own.user + own.system


def measure(o):
    mode, size = Mode(o.mode), SIZES[o.config]
    imported = peak_rss()
    batches = read_lengths(o.lengths)
    g = torch.Generator().manual_seed(1)
    make = lambda lengths: Side(lengths, size.vocab, mode.packed, mode.mask_dtype, g, mode.compiled)
    data = [(make([s for s, _ in b]), make([t for _, t in b]).shifted()) for b in batches]
    trainer = Trainer(size, mode)
    begun = time.perf_counter()
    losses = [trainer.step(*data[i % len(data)]) for i in range(o.warmup)]
    warm = time.perf_counter() - begun
    times, src, tgt, before = [], 0, 0, busy()
    while len(times) < o.steps or sum(times) < o.seconds:
        i = len(times) % len(data)
        t0 = time.perf_counter()
        losses.append(trainer.step(*data[i]))
        times.append(time.perf_counter() - t0)
        src += sum(s for s, _ in batches[i])
        tgt += sum(t for _, t in batches[i])
    total, after = sum(times), busy()
    own = after[1] - before[1]
    others = after[0] - before[0] - own
    return dict(who=f"torch {torch.__version__}", config=o.config, mode=o.mode, steps=len(times), seconds=round(total, 3),
                ms_per_step=round(1e3 * statistics.median(times), 3), tokens_per_s=round((src + tgt) / total, 1),
                target_tokens_per_s=round(tgt / total, 1), peak_rss_mb=round(peak_rss(), 1), import_rss_mb=round(imported, 1),
                loss=round(losses[-1], 5), first_loss=round(losses[0], 5), threads=torch.get_num_threads(),
                parameters=sum(p.numel() for p in trainer.params), warm_s=round(warm, 1),
                cpu_ms_per_step=round(1e3 * own / len(times), 1),
                # share of the machine that other programs used
                others_cpu=round(max(0.0, others) / total / os.cpu_count(), 3),
                preload=" ".join(os.path.basename(p) for p in os.environ.get("LD_PRELOAD", "").split(":")))


# ---- is it the same model? ----

def oracle_state(params, layers):
    """Renames parameters from the oracle's names to a state dict of rival.Model."""
    out = {"embed.weight": params["embed"]}

    def linear(to, name):
        out[to + ".weight"], out[to + ".bias"] = params[name + ".w"].T, params[name + ".b"]

    def norm(to, name):
        out[to + ".weight"], out[to + ".bias"] = params[name + ".g"], params[name + ".b"]

    for ours, theirs in (("encoder", "enc"), ("decoder", "dec")):
        for i in range(layers):
            a, b = f"{ours}.{i}", f"{theirs}.{i}"
            linear(a + ".self_attention.qkv", b + ".self.qkv")
            linear(a + ".self_attention.o", b + ".self.o")
            norm(a + ".norm1", b + ".self.ln")
            if ours == "decoder":
                for part in ("q", "kv", "o"):
                    linear(f"{a}.cross.{part}", f"{b}.cross.{part}")
                norm(a + ".norm2", b + ".cross.ln")
            linear(a + ".ffn1", b + ".ffn.1")
            linear(a + ".ffn2", b + ".ffn.2")
            norm(a + ".norm3", b + ".ffn.ln")
    return out


def check():
    """Compares loss and gradients in fp32 with the oracle's, with equal weights and batch, for all layouts and
    attentions. Returns the worst difference."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "oracle"))
    from model import Config, Transformer, hashed, pad
    c = Config()
    pairs = [(7, 6), (3, 2), (11, 9), (5, 3)]
    worst = 0.0
    for layout, attention in ((a, b) for a in ("padded", "packed") for b in ATTENTIONS):
        g = torch.Generator().manual_seed(1)
        sides = [Side([p[i] for p in pairs], c.vocab, layout == "packed", torch.float32, g) for i in (0, 1)]
        split = lambda x, i: [t.tolist() for t in x.split([p[i] for p in pairs])]
        src, out = split(sides[0].gold, 0), split(sides[1].gold, 1)
        oracle = Transformer(c, {n: t.requires_grad_() for n, t in hashed(c).items()})
        loss, _, _ = oracle.losses(pad(src), pad([[1] + r[:-1] for r in out]), pad(out))
        loss.backward()
        model = Model(Size(c.d_model, c.d_ff, c.heads, c.layers, 0.0, c.vocab), attention=attention)
        model.load_state_dict(oracle_state({n: t.detach() for n, t in oracle.p.items()}, c.layers), strict=False)
        ours = model(sides[0], sides[1].shifted())
        ours.backward()
        want = oracle_state({n: t.grad for n, t in oracle.p.items()}, c.layers)
        errors = {n: ((p.grad - want[n]).norm() / want[n].norm()).item() for n, p in model.named_parameters()}
        name = max(errors, key=errors.get)
        print(f"{layout} {attention}: loss {ours.item():.7f}, oracle {loss.item():.7f}; worst gradient {name} {errors[name]:.1e}")
        worst = max(worst, errors[name], abs(ours.item() - loss.item()) / loss.item())
    return worst


def main():
    o = arguments()
    if not (o.check or o.untuned):
        tuned()
    torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    if o.check:
        raise SystemExit(0 if check() < 1e-5 else "not the same model")
    if not o.lengths:
        raise SystemExit("--lengths FILE is missing")
    print(json.dumps(measure(o)))


if __name__ == "__main__":
    main()
