"""Feed-forwards, norms and blocks in plain NumPy, from their papers' equations."""
import itertools
import math

import numpy as np

from equations_basics import gelu, linear, relu, sigmoid, silu, softmax, softplus, unit

# ---- feed-forwards: their input is the rows of all sentences ----


def of_rows(f):
    return lambda at, xs: [f(at, x) for x in xs]


def two_maps(activation):
    return of_rows(lambda at, x: linear(at, activation(linear(at, x, "1", at.d_ff)), "2", at.d))


def gated_map(activation):  # Shazeer 2020, eq. 6; the inner width is 2/3 of d_ff, rounded
    def f(at, x):
        n = round(2 * at.d_ff / 3)
        h = activation(linear(at, x, "gate", n, False)) * linear(at, x, "1", n, False)
        return linear(at, h, "2", at.d, False)
    return of_rows(f)


def canon(at, x):  # Allen-Zhu 2025: Canon layers C and D, x + a causal convolution
    width = at.option("canon.width", 4)

    def layer(y, name):
        w, out = at.w(name, width, y.shape[1]), y.copy()
        for t in range(len(y)):
            for i in range(width):
                if t + i - width + 1 >= 0:
                    out[t] += w[i] * y[t + i - width + 1]
        return out
    return linear(at, relu(layer(linear(at, layer(x, "canon_c"), "1", at.d_ff), "canon_d")), "2", at.d)


def token_shift(at, x):  # Peng et al. 2023 (RWKV), eq. 18 to 21
    before = np.concatenate([np.zeros((1, at.d)), x[:-1]])
    mix = lambda name: at.w(name, at.d, first=0.5) * x + (1 - at.w(name, at.d, first=0.5)) * before
    k = linear(at, relu(linear(at, mix("mu_k"), "1", at.d_ff)) ** 2, "2", at.d)
    return sigmoid(linear(at, mix("mu_r"), "r", at.d, False)) * k


def expert(at, x, e):
    return linear(at, relu(linear(at, x, f"{e}.1", at.d_ff)), f"{e}.2", at.d)


def moe(at, xs):  # Shazeer et al. 2017, section 2; Fedus et al. 2022, eq. 4 to 6
    E, k = 4, 2
    x = np.concatenate(xs)
    p = softmax(linear(at, x, "gate", E, False))
    order = np.argsort(-p, 1)[:, :k]
    chosen = np.zeros(p.shape)
    np.put_along_axis(chosen, order, 1.0, 1)
    weight = chosen * p / (chosen * p).sum(1, keepdims=True)
    y = sum(weight[:, e : e + 1] * expert(at, x, e) for e in range(E))
    at.loss(E * (chosen.mean(0) / k * p.mean(0)).sum(), 0.01)
    return np.split(y, np.cumsum([len(a) for a in xs])[:-1])


# Puigcerver et al. 2023, section 2; in a decoder the softmax is over the tokens up to the current one
def soft_moe(at, xs):
    E, n = at.option("soft_moe.experts", 4), at.option("soft_moe.slots", 1)
    out = []
    for x in xs:
        unit = lambda a, axis: a / np.sqrt((a**2).sum(axis, keepdims=True) + 1e-12)
        logits = at.w("scale", 1, first=1.0) * unit(x, 1) @ unit(at.w("phi", at.d, E * n), 0)
        combine, y = softmax(logits), np.zeros(x.shape)
        for t in range(len(x)):
            seen = slice(0, t + 1 if at.causal else None)
            slots = softmax(logits[seen].T) @ x[seen]
            result = np.concatenate([expert(at, slots[e * n : (e + 1) * n], e) for e in range(E)])
            y[t] = combine[t] @ result
        out.append(y)
    return out


def mixture_of_depths(at, xs):  # Raposo et al. 2024, section 3; the router's loss is that of section 3.5
    capacity, auxiliary, out, entropies = 0.5, 0.01, [], []
    for x in xs:
        r = linear(at, x, "router", 1)[:, 0]
        chosen = np.zeros(len(x))
        chosen[np.argsort(-r)[: math.ceil(capacity * len(x))]] = 1
        entropies += list(softplus(r) - r * chosen)
        y = linear(at, relu(linear(at, x, "1", at.d_ff)), "2", at.d)
        out.append(y * (sigmoid(r) * chosen)[:, None])
    at.loss(np.mean(entropies), auxiliary)
    return out


FEED_FORWARDS = dict(
    canon=of_rows(canon), geglu=gated_map(gelu), gelu=two_maps(gelu), mixture_of_depths=mixture_of_depths, moe=moe,
    none=None, relu=two_maps(relu), soft_moe=soft_moe, squared_relu=two_maps(lambda h: relu(h) ** 2),
    swiglu=gated_map(silu), token_shift=of_rows(token_shift))

# ---- norms ----


def layer_norm(at, x):  # Ba et al. 2016, eq. 4
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-6)
    return y * at.w("g", at.d, first=1.0) + at.w("b", at.d)


def rms_norm(at, x):  # Zhang and Sennrich 2019, eq. 4
    return x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6) * at.w("g", at.d, first=1.0)


def dyt(at, x):  # Zhu et al. 2025, algorithm 1
    return at.w("g", at.d, first=1.0) * np.tanh(at.w("a", 1, first=0.5) * x) + at.w("b", at.d)


NORMS = dict(dyt=dyt, layer_norm=layer_norm, none=lambda at, x: x, rms_norm=rms_norm)

# ---- blocks: self_attention, cross, feed and norm map the rows of all sentences to new rows ----


def plus(xs, ys, factor=1.0):
    return [x + factor * y for x, y in zip(xs, ys)]


def sublayers(self_attention, cross, feed):
    yield "self", self_attention
    if cross:
        yield "cross", cross
    if feed:
        yield "ffn", feed


def post_norm(at, x, self_attention, cross, feed, norm):  # Vaswani et al. 2017, section 3.1
    for name, f in sublayers(self_attention, cross, feed):
        x = norm(plus(x, f(x)), name + ".ln")
    return x


def pre_norm(at, x, self_attention, cross, feed, norm):  # Xiong et al. 2020, section 3
    for name, f in sublayers(self_attention, cross, feed):
        x = plus(x, f(norm(x, name + ".ln")))
    return x


def sandwich(at, x, self_attention, cross, feed, norm):  # Ding et al. 2021, section 2.4
    for name, f in sublayers(self_attention, cross, feed):
        x = plus(x, norm(f(norm(x, name + ".ln")), name + ".ln_out"))
    return x


def parallel(at, x, self_attention, cross, feed, norm):  # Wang and Komatsuzaki 2021
    y = norm(x, "ln")
    for _, f in sublayers(self_attention, cross, feed):
        x = plus(x, f(y))
    return x


def macaron(at, x, self_attention, cross, feed, norm):  # Lu et al. 2019, section 3.2: two half steps
    x = plus(x, feed(norm(x, "ffn.ln"), "ffn"), 0.5)
    x = plus(x, self_attention(norm(x, "self.ln")))
    if cross:
        x = plus(x, cross(norm(x, "cross.ln")))
    return plus(x, feed(norm(x, "ffn_2.ln"), "ffn_2"), 0.5)


def rezero(at, x, self_attention, cross, feed, norm):  # Bachlechner et al. 2020, eq. 1
    for name, f in sublayers(self_attention, cross, feed):
        x = plus(x, f(x), at.w(name + ".a", 1))
    return x


def hyper_connections(at, x, self_attention, cross, feed, norm):  # Zhu et al. 2024, eq. 2 to 13
    n, kept = at.option("hyper_connections.n", 4), at.net.__dict__.setdefault("streams", {})
    h = [[a.copy() for a in x] for _ in range(n)] if at.layer == 0 else kept[at.role]
    for name, f in sublayers(self_attention, cross, feed):
        w = []
        for i in range(n):
            start = np.zeros(n + 2)
            start[0], start[1], start[2 + i] = i == at.layer % n, 1, 1
            fixed = at.w(f"hc.{name}.{i}", 1, n + 2) + start
            by, scale = at.w(f"hc.{name}.dynamic.{i}", at.d, n + 2), at.w(f"hc.{name}.scale.{i}", 1, first=0.01)
            w.append([fixed + scale * np.tanh(unit(a) @ by) for a in h[i]])
        y = f(norm([sum(h[i][s] * w[i][s][:, :1] for i in range(n)) for s in range(len(x))], name + ".ln"))
        h = [[sum(h[i][s] * w[i][s][:, 2 + j : 3 + j] for i in range(n)) + y[s] * w[j][s][:, 1:2]
              for s in range(len(x))] for j in range(n)]
    kept[at.role] = h
    return [sum(h[i][s] for i in range(n)) for s in range(len(x))]


def mhc_lite(at, x, self_attention, cross, feed, norm):  # Yang and Gao 2026, section 4: four streams X of [4,d] a token
    n, kept = 4, at.net.__dict__.setdefault("lite_streams", {})
    orders = [np.eye(n)[list(p)] for p in itertools.permutations(range(n))]
    h = [np.repeat(a[:, None], n, 1) for a in x] if at.layer == 0 else kept[at.role]
    for name, f in sublayers(self_attention, cross, feed):
        gain = at.w(f"mhc.{name}.gain", n * at.d, first=1.0)
        maps = at.w(f"mhc.{name}.maps", n * at.d, 2 * n + len(orders))
        start = dict(pre=np.where(np.arange(n) == at.layer % n, 1, -1), post=np.where(np.arange(n) == at.layer % n, 1, -1),
                     res=np.array([0] + [-8] * (len(orders) - 1)))

        def shares(a):
            flat = a.reshape(len(a), -1)
            flat = flat / np.sqrt((flat**2).mean(1, keepdims=True) + 1e-6 / flat.shape[1]) * gain
            by = dict(zip(("pre", "post", "res"), np.split(flat @ maps, [n, 2 * n], 1)))
            by = {k: v * at.w(f"mhc.{name}.{k}.scale", 1, first=0.01) + at.w(f"mhc.{name}.{k}", 1, v.shape[1]) + start[k]
                  for k, v in by.items()}
            return sigmoid(by["pre"]), 2 * sigmoid(by["post"]), np.einsum("tp,pij->tij", softmax(by["res"]), orders)
        all_shares = [shares(a) for a in h]
        y = f(norm([np.einsum("ti,tid->td", pre, a) for a, (pre, _, _) in zip(h, all_shares)], name + ".ln"))
        h = [res @ a + post[:, :, None] * b[:, None] for a, b, (_, post, res) in zip(h, y, all_shares)]
    kept[at.role] = h
    return [a.sum(1) for a in h]


def denseformer(at, x, self_attention, cross, feed, norm):  # Pagliardini et al. 2024, eq. 1
    kept = at.net.__dict__.setdefault("outputs", {})
    past = [x] if at.layer == 0 else kept[at.role]
    past = kept[at.role] = past + [pre_norm(at, x, self_attention, cross, feed, norm)]
    share = at.w("dwa", 1, len(past))[0] + np.eye(len(past))[-1]
    return [sum(w * a[s] for w, a in zip(share, past)) for s in range(len(x))]


# two of these ship beside experiments/parts/residuals-lm.ini, in Python
BLOCKS = {"hyper_connections": hyper_connections, "macaron": macaron, "parallel": parallel, "post_norm": post_norm,
          "pre_norm": pre_norm, "rezero": rezero, "sandwich": sandwich, "mhc_lite.py": mhc_lite,
          "denseformer.py": denseformer}
