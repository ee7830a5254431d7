#!/usr/bin/env python3
"""Writes golden/optimizers_plain.txt: parameters after some updates by optimizers written down here from their papers, in fp64.

    python tests/oracle/optimizers_plain.py > tests/oracle/golden/optimizers_plain.txt        (numpy)

soap     Vyas et al. 2024, algorithms 3 and 4, bases from the identity, with Adam's corrections of the means and eps outside of the root; vectors
         by AdamW. QR is numpy's, with the diagonal of R made positive
adam     Kingma and Ba 2015, algorithm 1
adamw    Loshchilov and Hutter 2019, algorithm 2, the schedule in the rate
lion     Chen et al. 2023, algorithm 2
sgd      Sutskever et al. 2013, eq. 1 to 4 as in PyTorch: the rate outside of the momentum
prodigy  Mishchenko and Defazio 2023, algorithm 4, with the learning rate in r and s

Cases, values and gradients as in optimizers.py.
"""
import numpy as np

STEPS = 4
SHAPES = [("tall.w", (6, 4)), ("qkv.w", (4, 10)), ("b", (5,)), ("embed", (7, 3))]   # as in test_optimizers.c
PARTS = {"qkv.w": (3, 3, 4)}


def first(k, shape):
    return np.sin(1 + 0.7 * np.arange(np.prod(shape)) + 10 * k).reshape(shape)


def gradient(k, t, shape):
    i = np.arange(np.prod(shape))
    return np.cos(0.3 * i * i + t + 2 * k).reshape(shape)


def say(step, name, x):
    print("after", step, name, *("%.17g" % v for v in x.reshape(-1)))


class Soap:
    """SOAP for a matrix; a vector is updated by Adam. A side longer than `most` keeps the identity as its basis."""

    def __init__(self, w, lr, beta1, beta2, eps, decay, every, most):
        self.w, self.lr, self.beta1, self.beta2, self.eps, self.decay, self.every = w, lr, beta1, beta2, eps, decay, every
        sides = w.shape if w.ndim == 2 else ()
        self.factor = [np.zeros((n, n)) if n <= most else None for n in sides]
        self.basis = [np.eye(n) for n in sides]
        self.m, self.v, self.t = np.zeros_like(w), np.zeros_like(w), 0

    def turn(self, x, back=False):
        if not self.basis:
            return x
        left, right = self.basis
        return left @ x @ right.T if back else left.T @ x @ right

    def step(self, g):
        self.t += 1
        turned = self.turn(g)
        self.m = self.beta1 * self.m + (1 - self.beta1) * g
        self.v = self.beta2 * self.v + (1 - self.beta2) * turned ** 2
        m = self.turn(self.m) / (1 - self.beta1 ** self.t)
        v = self.v / (1 - self.beta2 ** self.t)
        self.w = self.w - self.lr * (self.turn(m / (np.sqrt(v) + self.eps), back=True) + self.decay * self.w)
        for i, factor in enumerate(self.factor):
            if factor is None:
                continue
            self.factor[i] = self.beta2 * factor + (1 - self.beta2) * (g @ g.T if i == 0 else g.T @ g)
            if self.t % self.every == 0:
                q, r = np.linalg.qr(self.factor[i] @ self.basis[i])
                self.basis[i] = q * np.where(np.diag(r) < 0, -1, 1)


def soap(lr, beta1=0.95, beta2=0.95, eps=1e-8, decay=0.01, frequency=10, max_dim=1024):
    for k, (name, shape) in enumerate(SHAPES):
        cuts = np.cumsum(PARTS.get(name, ()))[:-1]
        rules = [Soap(w, lr, beta1, beta2, eps, decay, frequency, max_dim) for w in np.split(first(k, shape), cuts, -1)]
        for t in range(1, STEPS + 1):
            for rule, g in zip(rules, np.split(gradient(k, t, shape), cuts, -1)):
                rule.step(g)
            say(t, name, np.concatenate([rule.w for rule in rules], -1))


def prodigy(lr, beta1=0.9, beta2=0.999, eps=1e-8, decay=0, d0=1e-6, d_coef=1):
    sizes = [np.prod(shape) for _, shape in SHAPES]
    start = np.concatenate([first(k, shape).ravel() for k, (_, shape) in enumerate(SHAPES)])
    w, d, r, beta = start.copy(), d0, 0, np.sqrt(beta2)
    m = v = s = np.zeros_like(w)
    for t in range(1, STEPS + 1):
        g = np.concatenate([gradient(k, t, shape).ravel() for k, (_, shape) in enumerate(SHAPES)])
        r = beta * r + d / d0 * d * lr * np.dot(g, start - w)
        s = beta * s + d / d0 * d * lr * g
        m = beta1 * m + (1 - beta1) * d * g
        v = beta2 * v + (1 - beta2) * d ** 2 * g ** 2
        following = max(d, d_coef * r / np.sum(np.abs(s)))
        w = w - d * lr * (m / (np.sqrt(v) + following * eps) + decay * w)
        d = following
        for (name, shape), x in zip(SHAPES, np.split(w, np.cumsum(sizes)[:-1])):
            say(t, name, x)


def plain(rule):
    """Prints a rule's updates of each tensor: rule(w, g, state, t) returns the parameters after update t."""
    for k, (name, shape) in enumerate(SHAPES):
        w, state = first(k, shape), {}
        for t in range(1, STEPS + 1):
            w = rule(w, gradient(k, t, shape), state, t)
            say(t, name, w)


def adam(lr, beta1=0.9, beta2=0.98, eps=1e-9, decay=0.0):
    def rule(w, g, state, t):
        m = state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * g
        v = state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * g**2
        return w - lr * (m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + eps) + decay * w)
    plain(rule)


def lion(lr, beta1=0.9, beta2=0.99, decay=0.0):
    def rule(w, g, state, t):
        m = state.get("m", 0)
        state["m"] = beta2 * m + (1 - beta2) * g
        return w - lr * (np.sign(beta1 * m + (1 - beta1) * g) + decay * w)
    plain(rule)


def sgd(lr, momentum=0.9, nesterov=False):
    def rule(w, g, state, t):
        v = state["v"] = momentum * state.get("v", 0) + g
        return w - lr * (g + momentum * v if nesterov else v)
    plain(rule)


print("# numpy", np.__version__)
print("case soap 0.02 frequency 3")
soap(0.02, frequency=3)
print("case soap 0.02 frequency 2 beta1 0.8 beta2 0.9 decay 0.1 max_dim 6")
soap(0.02, frequency=2, beta1=0.8, beta2=0.9, decay=0.1, max_dim=6)
print("case prodigy 1 d0 0.01 decay 0.02")
prodigy(1, d0=0.01, decay=0.02)
print("case prodigy 0.5 d0 0.1 beta1 0.8 beta2 0.95 d_coef 2")
prodigy(0.5, d0=0.1, beta1=0.8, beta2=0.95, d_coef=2)
print("case adam 0.02")
adam(0.02)
print("case adam 0.02 beta1 0.8 beta2 0.9 eps 0.01")
adam(0.02, beta1=0.8, beta2=0.9, eps=0.01)
print("case adamw 0.02 beta1 0.8 beta2 0.95 eps 0.001 decay 0.1")
adam(0.02, beta1=0.8, beta2=0.95, eps=0.001, decay=0.1)
print("case lion 0.02 beta1 0.6 beta2 0.95 decay 0.1")
lion(0.02, beta1=0.6, beta2=0.95, decay=0.1)
print("case sgd 0.02 momentum 0.9")
sgd(0.02)
print("case sgd 0.02 momentum 0.8 nesterov true")
sgd(0.02, momentum=0.8, nesterov=True)
