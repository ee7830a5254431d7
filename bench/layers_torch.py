#!/usr/bin/env python3
"""Times recurrent and convolutional layers in PyTorch and ablate, in turn on the same machine. Prints JSON lines, and a table of medians.

    bench/layers_torch.py --ablate ./ablate --length 24 --sentences 32 --d-model 256 --repeats 5

Layers: lstm and recurrent (GRU), then a projection: an encoder's has half of the width in each direction, a decoder's runs forwards only; convolutional, of
width 3. Times forward and backward passes, with the gradient of the input, in fp32. PyTorch: the faster of eager and compiled torch.nn.LSTM, GRU and Conv1d."""
import argparse
import json
import os
import statistics
import subprocess
import time

import torch
from torch import nn
from torch.nn import functional as F

from train_torch import tuned

LAYERS = ("lstm", "recurrent", "convolutional")


class Recurrent(nn.Module):
    def __init__(self, cell, d, both):
        super().__init__()
        self.cell, self.out = cell(d, d // 2 if both else d, batch_first=True, bidirectional=both), nn.Linear(d, d)

    def forward(self, x):
        return self.out(self.cell(x)[0])


class Convolution(nn.Module):
    """Like ablate's convolutional: [B,T,d] -> [B,T,d]; in a decoder a position sees itself and earlier ones."""

    def __init__(self, d, both, width=3):
        super().__init__()
        self.pad = ((width - 1) // 2, width // 2) if both else (width - 1, 0)
        self.mix = nn.Conv1d(d, d, width)

    def forward(self, x):
        return self.mix(F.pad(x.transpose(1, 2), self.pad)).transpose(1, 2)


def module(name, d, both):
    if name == "convolutional":
        return Convolution(d, both)
    return Recurrent(nn.LSTM if name == "lstm" else nn.GRU, d, both)


def theirs(o, name, compiled):
    """Milliseconds of a forward and backward pass, the median over --seconds."""
    torch.manual_seed(1)
    layer = module(name, o.d_model, o.role == "encoder")
    call = torch.compile(layer) if compiled else layer
    x = (2 * torch.rand(o.sentences, o.length, o.d_model) - 1).requires_grad_()

    def step():
        x.grad = None
        layer.zero_grad(set_to_none=True)
        call(x).sum().backward()

    times = []
    for _ in range(5):
        step()
    while sum(times) < o.seconds or len(times) < 5:
        t0 = time.perf_counter()
        step()
        times.append(time.perf_counter() - t0)
    return 1e3 * statistics.median(times)


def ours(o, name):
    command = [o.ablate, "bench", "layers", "--plugin", name, "--length", o.length, "--sentences", o.sentences, "--d-model", o.d_model, "--role", o.role,
               "--threads", o.threads, "--seconds", o.seconds, "--json"]
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    return json.loads(subprocess.run(map(str, command), capture_output=True, text=True, check=True, env=env).stdout)["ms"]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--ablate", required=True, help="the program")
    a.add_argument("--layer", action="append", choices=LAYERS, help="which layers [all]")
    a.add_argument("--length", type=int, default=24, help="tokens of a sentence")
    a.add_argument("--sentences", type=int, default=32, help="sentences at once, at most 32")
    a.add_argument("--d-model", type=int, default=256)
    a.add_argument("--role", choices=("encoder", "decoder"), default="encoder")
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--seconds", type=float, default=2, help="of each measurement")
    a.add_argument("--repeats", type=int, default=3)
    o = a.parse_args()
    torch.set_num_threads(o.threads)
    rows = {}
    for _ in range(o.repeats):
        for name in o.layer or LAYERS:
            for who, ms in (("ablate", ours(o, name)), ("eager", theirs(o, name, False)), ("compile", theirs(o, name, True))):
                rows.setdefault(name, {}).setdefault(who, []).append(ms)
    for name, by in rows.items():
        middle = {who: statistics.median(ms) for who, ms in by.items()}
        best = min(("eager", "compile"), key=middle.get)
        ratios = [min(pair) / mine for mine, *pair in zip(by["ablate"], by["eager"], by["compile"])]
        print(json.dumps(dict(layer=name, role=o.role, sentences=o.sentences, length=o.length, d_model=o.d_model, threads=o.threads,
                              torch=torch.__version__, **{who + "_ms": [round(v, 3) for v in ms] for who, ms in by.items()})))
        print(f"# {name}: ablate {middle['ablate']:.2f} ms, PyTorch {middle[best]:.2f} ms ({best}): {middle[best] / middle['ablate']:.2f}"
              f" ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    tuned()
    main()
