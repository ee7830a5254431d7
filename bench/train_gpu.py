#!/usr/bin/env python3
"""Times PyTorch training on a GPU on recorded batch lengths; prints one line of JSON per mode.

usage: train_gpu.py --lengths FILE --config small|base|big --modes MODE,MODE... [--seconds S] [--vocab N]
       train_gpu.py --check            compares the packed layout's loss and gradients with the padded one's

The model is bench/rival.py's, which bench/train_torch.py --check compares with the oracle. A mode is PRECISION-HOW-LAYOUT, for example
bf16-compilegraph-packed:
  PRECISION  fp32 (no TF32); tf32; autocast (bf16); bf16 (bf16 weights, fp32 master weights in Adam)
  HOW        eager; compile; max (compile with max-autotune); graph, compilegraph, maxgraph: the whole step as one CUDA graph
  LAYOUT     padded     [B, T] rows, F.scaled_dot_product_attention with a mask
             packed     rows without padding, attention by torch.nn.attention.varlen (bf16 and autocast only); all batches have the rows
                        and sentences of the largest, so that one compilation and one graph serve them all
             scattered  rows without padding, scattered to [B, T] for attention only
A step: learning rate, forward with dropout, backward, fused Adam. Batches are already in the GPU's memory. The steps of a pass over all
batches run without synchronisation; the median of the passes counts. Padding and dummies do not count as tokens.
"""
import argparse
import inspect
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import rival
from rival import Size
from train_torch import read_lengths

try:
    from torch.nn.attention.varlen import varlen_attn
    CAUSAL = {"is_causal": True} if "is_causal" in inspect.signature(varlen_attn).parameters else {"window_size": (-1, 0)}
except ImportError:                                                       # torch before 2.10 lacks it
    varlen_attn = None

SIZES = {
    "mini": Size(16, 32, 2, 1, 0.1, 60),                                  # smallest sizes, to try the programs out
    "tiny": Size(128, 256, 4, 4, 0.1, 10000),
    "small": Size(256, 1024, 4, 3, 0.1, 10000),
    "base": Size(512, 2048, 8, 6, 0.1, 37000),
    "big": Size(1024, 4096, 16, 6, 0.1, 37000),
}
PRECISIONS = ("fp32", "tf32", "autocast", "bf16")
HOWS = ("eager", "compile", "max", "graph", "compilegraph", "maxgraph")
LAYOUTS = ("padded", "packed", "scattered")


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--lengths", help="one batch per line: src:tgt src:tgt ...")
    a.add_argument("--config", choices=SIZES, default="small")
    a.add_argument("--modes", default="bf16-compilegraph-packed", help="separated by commas")
    a.add_argument("--device", default="cuda")
    a.add_argument("--vocab", type=int, default=0, help="vocabulary size; 0: the configuration's")
    a.add_argument("--passes", type=int, default=2, help="minimum timed passes over the batches")
    a.add_argument("--seconds", type=float, default=4, help="minimum timed seconds")
    a.add_argument("--warm-only", action="store_true", help="compile and run each batch once, without timing")
    a.add_argument("--check", action="store_true")
    return a.parse_args()


# ---- the packed layout ----

def varlen_by_hand(q, k, v, q_side, k_side, causal):
    """varlen attention, sentence by sentence, to try this program out without a GPU."""
    starts, ends = q_side.cu.tolist(), k_side.cu.tolist()
    pieces = []
    for i in range(len(starts) - 1):
        part = [x[c[i]:c[i + 1]].transpose(0, 1)[None] for x, c in ((q, starts), (k, ends), (v, ends))]
        if part[0].shape[2]:
            pieces.append(F.scaled_dot_product_attention(*part, is_causal=causal)[0].transpose(0, 1))
    return torch.cat(pieces)


def varlen(q, k, v, q_side, k_side, causal):
    if not q.is_cuda:
        return varlen_by_hand(q, k, v, q_side, k_side, causal)
    return varlen_attn(q, k, v, q_side.cu, k_side.cu, q_side.longest, k_side.longest, **(CAUSAL if causal else {}))


class Attention(rival.Attention):
    """Like rival.Attention, but also for a Packed side."""

    def forward(self, x, side, memory=None, source=None, causal=False):
        if not isinstance(side, Packed):
            return super().forward(x, side, memory, source, causal)
        rows = lambda y, parts: y.view(y.shape[0], parts, self.h, -1).unbind(1)
        if self.cross:
            (q,), (k, v) = rows(self.q(x), 1), rows(self.kv(memory), 2)
            y = varlen(q, k, v, side, source, False)
        else:
            q, k, v = rows(self.qkv(x), 3)
            y = varlen(q, k, v, side, side, causal)
        return self.o(y.reshape(x.shape))


class Room:
    """The shape of every batch of a file in the packed layout: rows and sentences of the largest one. Short dummy
    sentences fill the remaining rows, so that no row is without a sentence."""

    def __init__(self, batches):
        rows = [sum(p[i] for p in b) for b in batches for i in (0, 1)]
        self.longest = max(n for b in batches for p in b for n in p)
        self.dummies = (max(rows) - min(rows) + 128) // self.longest + 2
        self.rows = (max(rows) + self.dummies + 63) // 64 * 64
        self.slots = max(map(len, batches)) + self.dummies

    def fill(self, lengths):
        left, n = self.rows - sum(lengths), self.dummies
        dummies = [left // n + (i < left % n) for i in range(n)]
        assert 1 <= min(dummies) and max(dummies) <= self.longest, (dummies[0], self.longest)
        return lengths + dummies + [0] * (self.slots - len(lengths) - n)


class Packed:
    """One side of a batch: the attributes of rival.Side that the model reads, and cu [slots + 1], the offsets of the
    sentences."""
    packed = True

    def __init__(self, lengths, room, vocab, generator):
        n = torch.tensor(room.fill(lengths))
        self.cu = torch.cat((torch.zeros(1, dtype=torch.int64), n.cumsum(0))).to(torch.int32)
        self.pos = torch.arange(room.rows) - self.cu[:-1].long().repeat_interleave(n)
        self.ids = torch.randint(4, vocab, (room.rows,), generator=generator)
        self.ids[self.cu[1:].long()[n > 0] - 1] = 2                      # EOS
        self.gold = self.ids.clone()
        self.gold[sum(lengths):] = -100                                  # dummies have no loss
        self.longest = room.longest

    shifted = rival.Side.shifted


TENSORS = ("ids", "pos", "gold", "index", "mask", "cu")


def to_device(side, device):
    for name in TENSORS:
        if isinstance(getattr(side, name, None), torch.Tensor):
            setattr(side, name, getattr(side, name).to(device))
    return side


def tensors_of(sides):
    return [x for s in sides for x in (getattr(s, n, None) for n in TENSORS) if isinstance(x, torch.Tensor)]


# ---- training ----

class Mode:
    def __init__(self, text):
        parts = text.split("-")
        if len(parts) != 3 or any(p not in known for p, known in zip(parts, (PRECISIONS, HOWS, LAYOUTS))):
            raise ValueError(f"mode {text}: expected {'|'.join(PRECISIONS)}-{'|'.join(HOWS)}-{'|'.join(LAYOUTS)}")
        self.text = text
        self.precision, how, self.layout = parts
        self.graph = how.endswith("graph")
        self.compiled = how.removesuffix("graph") if how not in ("eager", "graph") else ""
        if self.layout == "packed" and self.precision not in ("autocast", "bf16"):
            raise ValueError(f"mode {text}: varlen attention is for bf16")
        self.dtype = torch.bfloat16 if self.precision == "bf16" else torch.float32
        self.mask_dtype = torch.bfloat16 if self.precision in ("autocast", "bf16") else torch.float32


def model_of(size, mode, device):
    m = rival.Model(size)
    for part in m.modules():
        if type(part) is rival.Attention:
            part.__class__ = Attention
    return m.to(device=device, dtype=mode.dtype)


class Trainer:
    def __init__(self, size, mode, device):
        self.mode, self.size, self.device, self.t = mode, size, device, 0
        torch.set_float32_matmul_precision("high" if mode.precision == "tf32" else "highest")
        self.model = model_of(size, mode, device)
        self.params = list(self.model.parameters())
        self.masters = self.params
        if mode.precision == "bf16":
            self.masters = [p.detach().float().requires_grad_() for p in self.params]
            for p in self.masters:
                p.grad = torch.zeros_like(p)
        self.lr = torch.tensor(1e-4, device=device)
        self.adam = torch.optim.Adam(self.masters, lr=self.lr, betas=(0.9, 0.98), eps=1e-9, fused=True, capturable=device != "cpu")
        self.forward = self.model
        if mode.compiled:
            self.forward = torch.compile(self.model, dynamic=mode.layout != "packed",
                                         mode="max-autotune-no-cudagraphs" if mode.compiled == "max" else None)

    def schedule(self):
        self.t += 1
        self.lr.fill_(self.size.d_model**-0.5 * min(self.t**-0.5, self.t * 4000**-1.5))

    def work(self, source, target):
        """All of a step except the learning rate; may be captured into a graph."""
        for p in self.params:
            p.grad = None
        with torch.autocast(self.device, torch.bfloat16, enabled=self.mode.precision == "autocast"):
            loss = self.forward(source, target)
        loss.backward()
        if self.masters is not self.params:
            torch._foreach_copy_([p.grad for p in self.masters], [p.grad for p in self.params])
        self.adam.step()
        if self.masters is not self.params:
            with torch.no_grad():
                torch._foreach_copy_(self.params, self.masters)
        return loss.detach()

    def step(self, source, target):
        self.schedule()
        return self.work(source, target)


class Graphs:
    """The trainer's step as CUDA graphs: one for all batches if they have one shape, else one for each."""

    def __init__(self, trainer, data):
        self.trainer, self.data, self.made = trainer, data, {}
        self.one = trainer.mode.layout == "packed"
        self.pool = torch.cuda.graph_pool_handle()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for i in range(1 if self.one else len(data)):
                for _ in range(3):
                    trainer.step(*data[i])
        torch.cuda.current_stream().wait_stream(side)
        if self.one:
            room = Packed.__new__(Packed), Packed.__new__(Packed)
            for new, old in zip(room, data[0]):
                new.__dict__ = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in old.__dict__.items()}
            self.room = room

    def capture(self, sides):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g, pool=self.pool):
            loss = self.trainer.work(*sides)
        return g, loss

    def step(self, i):
        self.trainer.schedule()
        key = 0 if self.one else i
        if self.one:
            torch._foreach_copy_(tensors_of(self.room), tensors_of(self.data[i]))
        if key not in self.made:
            self.made[key] = self.capture(self.room if self.one else self.data[i])
        graph, loss = self.made[key]
        graph.replay()
        return loss


def make_data(batches, size, mode, device):
    g = torch.Generator().manual_seed(1)
    if mode.layout == "packed":
        room = Room(batches)
        make = lambda n: Packed(n, room, size.vocab, g)
    else:
        make = lambda n: rival.Side(n, size.vocab, mode.layout == "scattered", mode.mask_dtype, g, True)
    return [(to_device(make([s for s, _ in b]), device), to_device(make([t for _, t in b]).shifted(), device)) for b in batches]


def synchronize(device):
    if device != "cpu":
        torch.cuda.synchronize()


def measure(o, text, batches):
    mode, device = Mode(text), o.device.split(":")[0]
    size = SIZES[o.config] if not o.vocab else Size(**{**SIZES[o.config].__dict__, "vocab": o.vocab})
    data = make_data(batches, size, mode, o.device)
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()                             # works only after CUDA was used
    trainer = Trainer(size, mode, device)
    begun = time.perf_counter()
    if mode.graph:
        step = Graphs(trainer, data).step
    else:
        step = lambda i: trainer.step(*data[i])
    for _ in range(1 if o.warm_only else 2):
        for i in range(len(data)):
            loss = step(i)
    synchronize(device)
    warm, passes, first = time.perf_counter() - begun, [], loss.item()
    while not o.warm_only and (len(passes) < o.passes or sum(passes) < o.seconds):
        t0 = time.perf_counter()
        for i in range(len(data)):
            loss = step(i)
        synchronize(device)
        passes.append(time.perf_counter() - t0)
    last = loss.item()
    if not (last == last and abs(last) < 100):
        raise RuntimeError(f"the loss is {last}")
    n, src, tgt = len(data), sum(s for b in batches for s, _ in b), sum(t for b in batches for _, t in b)
    out = dict(who=f"torch {torch.__version__}", what="train", config=o.config, mode=text, vocab=size.vocab,
               device=torch.cuda.get_device_name() if device != "cpu" else "cpu", warm_s=round(warm, 1), loss=round(last, 5),
               first_loss=round(first, 5), parameters=sum(p.numel() for p in trainer.params))
    if passes:
        pass_s = statistics.median(passes)
        out.update(steps=n * len(passes), seconds=round(sum(passes), 3), ms_per_step=round(1e3 * pass_s / n, 4),
                   tokens_per_s=round((src + tgt) / pass_s, 1), target_tokens_per_s=round(tgt / pass_s, 1))
    if device != "cpu":
        out["gpu_peak_mb"] = round(torch.cuda.max_memory_allocated() / 2**20, 1)
    return out


def forget(device):
    torch.compiler.reset()
    if device != "cpu":
        torch.cuda.empty_cache()


# ---- is it the same model? ----

def check(o):
    """Compares loss and gradients of the packed and the padded layout, with equal weights and sentences. Returns True
    if they agree."""
    bf16 = o.device != "cpu"                                             # on a GPU varlen needs bf16
    mode = Mode("bf16-eager-packed" if bf16 else "autocast-eager-packed")
    size, batch = Size(64, 128, 2, 2, 0.0, 50), [(7, 6), (3, 2), (11, 9), (5, 3)]
    room, g = Room([batch, [(9, 9)]]), torch.Generator().manual_seed(1)
    packed = [Packed([p[i] for p in batch], room, size.vocab, g) for i in (0, 1)]
    padded = [rival.Side([p[i] for p in batch], size.vocab, False, mode.dtype, g) for i in (0, 1)]
    # puts the packed sentences into the padded layout
    for a, b in zip(packed, padded):
        b.gold = a.ids[:len(b.index)].clone()
        b.ids[b.index] = b.gold
    torch.manual_seed(0)
    model = model_of(size, mode, o.device)
    results = []
    for sides in (packed, padded):
        sides[1].shifted()
        for s in sides:
            to_device(s, o.device)
        model.zero_grad()
        loss = model(*sides)
        loss.backward()
        results.append([loss.detach()[None]] + [p.grad.clone() for p in model.parameters()])
    errors = [((a - b).float().norm() / b.float().norm()).item() for a, b in zip(*results)]
    print(f"packed against padded: loss off by {errors[0]:.1e}, gradients by {max(errors[1:]):.1e} at most (relative)")
    return max(errors) < (5e-2 if bf16 else 1e-4)


def main():
    o = arguments()
    if o.check:
        raise SystemExit(0 if check(o) else "the layouts differ")
    batches = read_lengths(o.lengths)
    for text in o.modes.split(","):
        try:
            out = measure(o, text, batches)
        except Exception as x:                                           # this mode failed; the others may work
            out = dict(who=f"torch {torch.__version__}", what="train", config=o.config, mode=text,
                       error=f"{type(x).__name__}: {str(x).splitlines()[0][:300] if str(x) else ''}")
        print(json.dumps(out), flush=True)
        forget(o.device)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
