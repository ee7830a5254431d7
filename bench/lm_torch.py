#!/usr/bin/env python3
"""Times training steps of nanoGPT's CPU recipe (experiments/checks/shakespeare.ini) in PyTorch and ablate, in turn on the same machine. Prints JSON.

    python3 bench/lm_torch.py --ablate build/ablate --data $ABLATE_DATA --threads 2 --seconds 8 --rounds 2

The model: 4 layers, 4 heads, width 128, GELU, pre-norm, learned positions, tied embedding, windows of 64 characters, 12 per update, fp32, AdamW, clipping
at 1. PyTorch runs it eagerly (scaled_dot_product_attention, like nanoGPT without compiling) and, with --compile, compiled. ablate trains the experiment
itself; its speed is taken from its progress lines (updates and their batches, without evaluation)."""
import argparse
import json
import math
import os
import re
import subprocess
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, HEADS, WIDTH, CONTEXT, BATCH = 4, 4, 128, 64, 12


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = (y.view(n, t, HEADS, d // HEADS).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(d, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
        for layer in self.layers:
            for p in (layer.out.weight, layer.down.weight):
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * LAYERS))

    def forward(self, ids, target):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(F.linear(self.norm(x), self.tokens.weight).flatten(0, 1), target.flatten())


class Trainer:
    """Steps of the recipe on random windows of the first nine tenths of the text."""

    def __init__(self, text, steps, compiled):
        letters = sorted(set(text))
        self.ids = torch.tensor([letters.index(c) for c in text])
        self.train, self.dev = self.ids[: len(self.ids) * 9 // 10], self.ids[len(self.ids) * 9 // 10 :]
        torch.manual_seed(1)
        self.model = Decoder(len(letters))
        self.loss = torch.compile(self.model) if compiled else self.model
        groups = [
            {"params": [p for p in self.model.parameters() if p.dim() > 1], "weight_decay": 0.1},
            {"params": [p for p in self.model.parameters() if p.dim() == 1], "weight_decay": 0.0},
        ]
        self.optim = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)
        self.step, self.steps = 0, steps

    def rate(self):
        if self.step <= 100:
            return 1e-3 * self.step / 100
        return 1e-4 + 9e-4 * (1 + math.cos(math.pi * (self.step - 100) / max(1, self.steps - 100))) / 2

    def update(self):
        self.step += 1
        at = torch.randint(len(self.train) - CONTEXT, (BATCH,))
        ids = torch.stack([self.train[i : i + CONTEXT] for i in at])
        target = torch.stack([self.train[i + 1 : i + CONTEXT + 1] for i in at])
        for group in self.optim.param_groups:
            group["lr"] = self.rate()
        self.optim.zero_grad(set_to_none=True)
        self.loss(ids, target).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optim.step()

    def speed(self, seconds):
        for _ in range(5):
            self.update()
        start, n = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            self.update()
            n += 1
        return n * BATCH * CONTEXT / (time.perf_counter() - start)

    @torch.no_grad()
    def dev_loss(self):
        n = (len(self.dev) - 1) // CONTEXT
        ids, target = self.dev[: n * CONTEXT].view(n, CONTEXT), self.dev[1 : n * CONTEXT + 1].view(n, CONTEXT)
        return sum(self.model(i, t).item() * len(i) for i, t in zip(ids.split(64), target.split(64))) / n


def ours(o, seconds):
    """Tokens per second that `ablate run` reports for the experiment, stopped after as many steps as take about
    `seconds`."""
    ini = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "experiments", "checks", "shakespeare.ini")
    with tempfile.TemporaryDirectory() as place:
        command = [o.ablate, "run", ini, "--only", "base", "--db", place + "/results.db", "--threads", str(o.threads), "--workers", "1", "--no-check"]
        steps = max(20, int(seconds * o.guess / (BATCH * CONTEXT)))
        command += ["-s", f"steps={steps}", "-s", "warmup=10", "-s", f"eval_every={steps}", "-s", f"save_every={steps}", "-s", "precision=fp32", "--progress", "none"]
        subprocess.run(command, check=True, env=dict(os.environ, ABLATE_DATA=o.data), stdout=subprocess.DEVNULL)
        out = subprocess.run([o.ablate, "query", "--db", place + "/results.db", "--format", "csv", "select tokens_second from runs"],
                             check=True, capture_output=True, text=True).stdout
        return float(re.findall(r"[\d.]+", out)[-1])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--ablate", default="build/ablate")
    p.add_argument("--data", default=os.environ.get("ABLATE_DATA", "data"))
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seconds", type=float, default=8, help="duration of each measurement")
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--guess", type=float, default=20000, help="expected tokens per second of ablate, which sets its number of steps")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--train", type=int, metavar="STEPS", help="train PyTorch's model instead and print its loss over the whole validation text")
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    with open(os.path.join(o.data, "shakespeare", "input.txt"), encoding="utf-8") as f:
        text = f.read()
    trainer = Trainer(text, o.train or 2000, o.compile)
    if o.train:
        for _ in range(o.train):
            trainer.update()
        print(json.dumps({"steps": o.train, "validation_loss": trainer.dev_loss()}))
        return
    out = {"torch": [], "ablate": [], "threads": o.threads, "version": torch.__version__, "compiled": o.compile}
    for _ in range(o.rounds):
        out["ablate"].append(round(ours(o, o.seconds)))
        out["torch"].append(round(trainer.speed(o.seconds)))
    out["ratio"] = round(sum(out["ablate"]) / sum(out["torch"]), 3)
    print(json.dumps(out))


main()
