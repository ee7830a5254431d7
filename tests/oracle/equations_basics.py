"""Functions that the equations of several plugins share, in plain NumPy. `at` (class Place of plugins.py) gives a plugin
its sizes, settings, and learned values by name."""
import math

import numpy as np


def linear(at, x, name, n, bias=True):
    y = x @ at.w(name + ".w", x.shape[-1], n)
    return y + at.w(name + ".b", n) if bias else y


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(y):
    top = y.max(-1, keepdims=True)
    return y - top - np.log(np.exp(y - top).sum(-1, keepdims=True))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softplus(x):
    return np.log1p(np.exp(x))


def relu(x):
    return np.maximum(x, 0)


def gelu(x):  # Hendrycks and Gimpel 2016, section 2, the tanh form
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def unit(x):
    return x / np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6)


def distances(n_queries, n_keys):
    return np.arange(n_keys)[None, :] - np.arange(n_queries)[:, None]


# ---- attentions: projections, scores and outputs ----


def heads(x, n):
    return x.reshape(len(x), n, -1).transpose(1, 0, 2)


def merge(y):
    return y.transpose(1, 0, 2).reshape(y.shape[1], -1)


def projections(at, x, mem):
    H, dk, dv = at.H, at.dk, at.dv
    if at.cross:
        q, kv = linear(at, x, "q", H * dk), linear(at, mem, "kv", H * (dk + dv))
        k, v = kv[:, : H * dk], kv[:, H * dk :]
    else:
        y = linear(at, x, "qkv", H * (2 * dk + dv))
        q, k, v = y[:, : H * dk], y[:, H * dk : 2 * H * dk], y[:, 2 * H * dk :]
    return rotate(at, heads(q, H)), rotate(at, heads(k, H)), heads(v, H)


def rotate(at, q):
    return at.position().rotate(at, q) if at.position() else q


def place(at, s, q):
    return s + at.position().scores(at, q, s.shape[2]) if at.position() else s


def mask(at, s, value=-np.inf):
    return np.where(distances(*s.shape[1:]) > 0, value, s) if at.causal else s


def read(at, p, v):
    y = p @ v
    return y + at.position().values(at, p) if at.position() else y


def output(at, y):
    return linear(at, merge(y), "o", at.d)


def scores(at, q, k, scale=None):
    return mask(at, place(at, (scale or 1 / math.sqrt(at.dk)) * q @ k.transpose(0, 2, 1), q))
