#!/usr/bin/env python3
"""Writes golden/optimizers.txt: parameters after some updates by others' optimizers, in fp64.

    python tests/oracle/optimizers.py > tests/oracle/golden/optimizers.txt        (torch, timm for LAMB, schedulefree)

adafactor  torch.optim.Adafactor, whose eps1 is a bound of the variance instead of a term: 1e-30 makes that the same
lamb       timm.optim.Lamb with weight decay and without its clipping of the whole gradient
schedule_free  schedulefree.AdamWScheduleFree; `evaluated STEP PARAMETER VALUE ...` are its values in eval()
muon       torch.optim.Muon with its cast to bfloat16 taken out, for matrices; torch.optim.AdamW for all else. PyTorch's weights are
           [outputs, inputs], so matrices are handed over transposed; queries, keys and values one by one

A case: `case OPTIMIZER LR SETTING VALUE ...`; then `after STEP PARAMETER VALUE ...`, all values of the parameter, row-major.
Value i of parameter k begins as sin(1 + 0.7 i + 10 k), its gradient of update t is cos(0.3 i i + t + 2 k).
"""
import importlib.metadata as versions
import importlib.util
import math
import sys
import types

import torch

# imports one file only: the whole package needs more packages
for package in ("timm", "timm.optim"):
    folders = importlib.util.find_spec("timm").submodule_search_locations if package == "timm" else [sys.modules["timm"].__path__[0] + "/optim"]
    sys.modules[package] = types.ModuleType(package)
    sys.modules[package].__path__ = list(folders)
from timm.optim.lamb import Lamb  # noqa: E402
from schedulefree import AdamWScheduleFree  # noqa: E402

torch.set_default_dtype(torch.float64)
STEPS = 4
SHAPES = [("tall.w", (6, 4)), ("qkv.w", (4, 10)), ("b", (5,)), ("embed", (7, 3))]   # as in test_optimizers.c
PARTS = {"qkv.w": (3, 3, 4)}


def first(k, shape):
    n = math.prod(shape)
    return torch.tensor([math.sin(1 + 0.7 * i + 10 * k) for i in range(n)]).reshape(shape)


def gradient(k, t, shape):
    n = math.prod(shape)
    return torch.tensor([math.cos(0.3 * i * i + t + 2 * k) for i in range(n)]).reshape(shape)


def say(step, name, x):
    print("after", step, name, *("%.17g" % v for v in x.reshape(-1).tolist()))


def run(make):
    """make(name, tensor) returns (tensors to optimize, optimizer, function that joins their values in our layout)."""
    for k, (name, shape) in enumerate(SHAPES):
        split, optimizer, joined = make(name, first(k, shape))
        for t in range(1, STEPS + 1):
            for p, g in zip(split, cut(name, gradient(k, t, shape), len(split))):
                p.grad = g.contiguous()
            optimizer.step()
            say(t, name, joined())


def cut(name, x, n):
    if n == 1 and x.dim() < 2 or n == 0:
        return [x]
    return [x.mT for x in torch.split(x, list(PARTS.get(name, (x.shape[-1],))), -1)] if cut.transposed else [x]


cut.transposed = False


def plain(rule, **settings):
    def make(name, x):
        p = torch.nn.Parameter(x.clone())
        return [p], rule([p], **settings), lambda: p.detach()
    return make


def muon(name, x):
    if name not in ("tall.w", "qkv.w"):
        p = torch.nn.Parameter(x.clone())
        cut.transposed = False
        return [p], torch.optim.AdamW([p], lr=0.02 * 0.015, betas=(0.9, 0.95), eps=1e-10, weight_decay=0.1), lambda: p.detach()
    cut.transposed = True
    split = [torch.nn.Parameter(q.contiguous().clone()) for q in cut(name, x, len(PARTS.get(name, (0,))))]
    rule = torch.optim.Muon(split, lr=0.02, weight_decay=0.1, momentum=0.95, nesterov=True, adjust_lr_fn="original")
    return split, rule, lambda: torch.cat([p.detach().mT for p in split], -1)


torch.bfloat16 = torch.float64
print("# torch", torch.__version__.split("+")[0], "timm", versions.version("timm"), "schedulefree", versions.version("schedulefree"))
print("case adafactor 0.05")
run(plain(torch.optim.Adafactor, lr=0.05, eps=(1e-30, 1e-3), weight_decay=0))
print("case adafactor 0.05 clip 1.5 decay_rate -0.6")
run(plain(torch.optim.Adafactor, lr=0.05, eps=(1e-30, 1e-3), d=1.5, beta2_decay=-0.6, weight_decay=0))
print("case lamb 0.1 decay 0.02")
run(plain(Lamb, lr=0.1, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.02, max_grad_norm=None))
print("case schedule_free 0.05 beta1 0.8 beta2 0.99 decay 0.1")
for k, (name, shape) in enumerate(SHAPES):
    p = torch.nn.Parameter(first(k, shape))
    rule = AdamWScheduleFree([p], lr=0.05, betas=(0.8, 0.99), weight_decay=0.1, foreach=False)
    for t in range(1, STEPS + 1):
        rule.train()
        p.grad = gradient(k, t, shape)
        rule.step()
        say(t, name, p.detach())
        rule.eval()
        print("evaluated", t, name, *("%.17g" % v for v in p.detach().reshape(-1).tolist()))
print("case muon 0.02 decay 0.1")
run(muon)
