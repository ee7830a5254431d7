"""Attentions that carry a state from token to token, in plain NumPy, from their papers' equations."""
import math

import numpy as np

from equations_basics import heads, linear, merge, projections, sigmoid, silu, softplus, unit


def decayed(at, x, log_keep, gate_bias):
    """q_t S_t, where S_t = keep_t S + k' v; both directions in the encoder. log_keep [H,T,d_k]: log of the factor by
    which each token keeps the state."""
    q, k, v = projections(at, x, x)
    b, T = np.cumsum(log_keep, 1), len(x)
    w = np.zeros((at.H, T, T))
    for i in range(T):
        for j in range(i + 1 if at.causal else T):
            w[:, i, j] = (q[:, i] / math.sqrt(at.dk) * k[:, j] * np.exp(-abs(b[:, i] - b[:, j]))).sum(-1)
    y = w @ v
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-4)
    return linear(at, silu(linear(at, x, "gate", at.H * at.dv, gate_bias)) * merge(y), "out", at.d, False)


def retention(at, x, mem):  # Sun et al. 2023, eq. 6 and 8
    keep = np.log(1 - 2.0 ** (-5 - np.arange(at.H)))
    return decayed(at, x, np.broadcast_to(keep[:, None, None], (at.H, len(x), at.dk)), False)


def gated_linear(at, x, mem):  # Yang et al. 2024, section 4.2
    alpha = linear(at, linear(at, x, "alpha_down", 16, False), "alpha_up", at.H * at.dk)
    return decayed(at, x, heads(np.log(sigmoid(alpha)) / 16, at.H), True)


def short_conv(at, y, name, width):
    """Filters each column over `width` tokens: in a decoder the last tokens, in an encoder the tokens around. The
    filter begins with the oldest token."""
    w, out = at.w(name, width, y.shape[1]), np.zeros(y.shape)
    before = width - 1 if at.causal else width // 2
    for t in range(len(y)):
        for i in range(width):
            if 0 <= t + i - before < len(y):
                out[t] += w[i] * y[t + i - before]
    return out


def state_scan(q, k, v, beta, keep, delta):
    """Returns q_t S_t, [H,T,d_v], where S_t = a S + beta k' (v - delta a k S)."""
    H, T = q.shape[:2]
    S, y = np.zeros((H, k.shape[2], v.shape[2])), np.zeros((H, T, v.shape[2]))
    for t in range(T):
        S = keep[:, t, None, None] * S
        stored = np.einsum("hd,hde->he", k[:, t], S) if delta else 0
        S = S + np.einsum("hd,he->hde", k[:, t], beta[:, t, None] * (v[:, t] - stored))
        y[:, t] = np.einsum("hd,hde->he", q[:, t], S)
    return y


def both_ways(at, q, k, v, beta, keep, delta):
    y = state_scan(q, k, v, beta, keep, delta)
    if not at.causal:
        y = y + state_scan(*(a[:, ::-1] for a in (q, k, v, beta, keep)), delta)[:, ::-1]
    return y


def mixed(at, x, name, n, d, unit=False):
    y = heads(silu(short_conv(at, linear(at, x, name, n * d, False), name + ".conv", 4)), n)
    return y / np.sqrt((y**2).sum(-1, keepdims=True) + 1e-6) if unit else y


def rates(at, x):
    """Steps dt [H,T] and decays exp(-exp(A) dt). Initial values are spread evenly over heads: A's rates 1 .. 16, dt
    0.001 .. 0.1."""
    share = np.arange(at.H) / max(at.H - 1, 1)
    first_dt = np.log(np.expm1(np.exp(np.log(0.001) + share * (np.log(0.1) - np.log(0.001)))))
    dt = softplus(linear(at, x, "dt", at.H, False) + at.w("dt_bias", at.H) + first_dt).T
    return dt, np.exp(-np.exp(at.w("A", at.H) + share * np.log(16))[:, None] * dt)


def head_norm(at, y):
    return y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-5) * at.w("gain", y.shape[-1], first=1.0)


def delta_rule(at, x, gated_state):
    q, k, v = (mixed(at, x, n, at.H, d, u) for n, d, u in (("q", at.dk, True), ("k", at.dk, True), ("v", at.dv, False)))
    beta = sigmoid(linear(at, x, "beta", at.H, False)).T
    keep = rates(at, x)[1] if gated_state else np.ones(beta.shape)
    y = merge(head_norm(at, both_ways(at, q, k, v, beta, keep, True)))
    if gated_state:
        y = y * silu(linear(at, x, "gate", at.H * at.dv, False))
    return linear(at, y, "out", at.d, False)


def delta_net(at, x, mem):  # Yang et al. 2024, arXiv 2406.06484
    return delta_rule(at, x, False)


def gated_delta_net(at, x, mem):  # Yang, Kautz, Hatamizadeh 2024, eq. 10
    return delta_rule(at, x, True)


def mamba2(at, x, mem):  # Dao & Gu 2024, section 7
    u = mixed(at, x, "x", at.H, at.dv)
    b, c = (np.repeat(mixed(at, x, n, 1, at.dk), at.H, 0) for n in "BC")
    dt, keep = rates(at, x)
    y = both_ways(at, c, b, dt[:, :, None] * u, np.ones(dt.shape), keep, False)
    y = merge(y + at.w("D", at.H, 1, 1, first=1.0) * u) * silu(linear(at, x, "gate", at.H * at.dv, False))
    return linear(at, head_norm(at, y), "out", at.d, False)


def matrix_states(at, q, decay, step, *rows):
    """Returns q_t S_t, [H,T,d_v]; S_t = diag(decay_t) S changed by step(S, h, *rows of t); both directions in the
    encoder."""
    def scan(q, decay, *rows):
        y = np.zeros((at.H, q.shape[1], at.dv))
        for h in range(at.H):
            S = np.zeros((q.shape[2], at.dv))
            for t in range(q.shape[1]):
                S = step(S, decay[h, t][:, None], *(r[h, t] for r in rows))
                y[h, t] = q[h, t] @ S
        return y
    y = scan(q, decay, *rows)
    return y if at.causal else y + scan(*(a[:, ::-1] for a in (q, decay, *rows)))[:, ::-1]


def low_rank(at, x, name, rank, n, bias=True):
    return linear(at, linear(at, x, name + "_down", rank, False), name + "_up", n, bias)


def first_values(at, v):
    """Layer 0 stores a sentence's values and returns None; later layers return the stored values, sentence by sentence."""
    kept = at.net.__dict__.setdefault("first_values", {})
    if at.layer == 0:
        if kept.get(at.role, (None,))[0] is not at:
            kept[at.role] = (at, [])
        kept[at.role][1].append(v)
        return None
    at.sentence = getattr(at, "sentence", -1) + 1
    return kept[at.role][1][at.sentence]


def rwkv7(at, x, mem):  # Peng et al. 2025, section 4
    H, K, V, rank = at.H, at.H * at.dk, at.H * at.dv, at.option("rwkv7.rank", 16)
    before = np.concatenate([np.zeros((1, at.d)), x[:-1]])
    mix = lambda name: x + at.w("mu_" + name, at.d, first=0.5) * (before - x)
    r, k, xv = linear(at, mix("r"), "r", K, False), linear(at, mix("k"), "k", K, False), mix("v")
    v = linear(at, xv, "v", V, False)
    first = first_values(at, v)
    if first is not None:
        v = v + sigmoid(low_rank(at, xv, "v", rank, V)) * (first - v)
    w = np.tanh(linear(at, mix("w"), "w_down", rank, False))
    w = np.exp(-math.exp(-0.5) * sigmoid(linear(at, w, "w_up", K)))
    a = sigmoid(low_rank(at, mix("a"), "a", rank, K))
    gate = linear(at, sigmoid(linear(at, mix("g"), "g_down", 2 * rank, False)), "g_up", V, False)
    kappa = unit(heads(k * at.w("kappa", K, first=0.85), H))
    k = k * (1 + (a - 1) * at.w("k_a", K, first=1.0))

    def step(S, w, k, v, kappa, a):
        return w * S - np.outer(a * kappa, kappa @ S) + np.outer(k, v)
    y = matrix_states(at, heads(r, H), heads(w, H), step, heads(k, H), heads(v, H), kappa, heads(a, H))
    y = merge((y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 64e-5))
    y = y * at.w("norm.g", V, first=1.0) + at.w("norm.b", V)
    own = merge(heads(r * k * at.w("rho", K), H).sum(-1, keepdims=True) * heads(v, H))
    return linear(at, (y + own) * gate, "out", at.d, False)


def kda(at, x, mem):  # Kimi Team 2025, eq. 1
    H, rank = at.H, at.option("kda.rank", 16)
    q, k, v = (mixed(at, x, n, H, d, u) for n, d, u in (("q", at.dk, True), ("k", at.dk, True), ("v", at.dv, False)))
    beta = heads(sigmoid(linear(at, x, "beta", H, False)), H)
    spread = lambda n, first, last: np.linspace(first, last, n)
    bias = at.w("dt_bias", H, 1, at.dk) + np.log(np.expm1(np.exp(spread(at.dk, math.log(1e-3), math.log(0.1)))))
    rate = np.exp(at.w("A", H, 1, 1) + spread(H, 0, math.log(16))[:, None, None])
    alpha = np.exp(-rate * softplus(heads(low_rank(at, x, "dt", rank, H * at.dk, False), H) + bias))

    def step(S, alpha, k, v, beta):
        S = alpha * S
        return S + np.outer(beta * k, v - k @ S)
    y = merge(head_norm(at, matrix_states(at, q, alpha, step, k, v, beta)))
    return linear(at, y * sigmoid(low_rank(at, x, "gate", rank, H * at.dv)), "out", at.d, False)


def delta_product(at, x, mem):  # Siems et al. 2025, section 3
    H, n = at.H, at.option("delta_product.n", 2)
    q = mixed(at, x, "q", H, at.dk, True)
    k, v = (mixed(at, x, name, H, n * d).reshape(H, len(x), n, d) for name, d in (("k", at.dk), ("v", at.dv)))
    beta = 2 * sigmoid(heads(linear(at, x, "beta", n * H, False), H))

    def scan(q, k, v, beta):
        y = np.zeros((H, len(x), at.dv))
        for h in range(H):
            S = np.zeros((at.dk, at.dv))
            for t in range(len(x)):
                for i in range(n):
                    S = S + beta[h, t, i] * np.outer(k[h, t, i], v[h, t, i] - k[h, t, i] @ S)
                y[h, t] = q[h, t] @ S
        return y
    y = scan(q, unit(k), v, beta)
    if not at.causal:
        y = y + scan(q[:, ::-1], unit(k)[:, ::-1, ::-1], v[:, ::-1, ::-1], beta[:, ::-1, ::-1])[:, ::-1]
    return linear(at, merge(head_norm(at, y)), "out", at.d, False)


def titans(at, x, mem):  # Behrouz et al. 2025, eq. 8 to 14; the gradient of |M(k) - v|^2 / 2 by hand
    H, m = at.H, at.option("titans.hidden", 8)
    qk, v = silu(linear(at, x, "qk", 2 * H * at.dk, False)), heads(silu(linear(at, x, "v", H * at.dv, False)), H)
    q, k = (unit(heads(part, H)) for part in np.split(qk, 2, axis=1))
    eta, theta, keep = (r.T for r in np.split(sigmoid(linear(at, x, "rates", 3 * H)), 3, axis=1))
    y = np.zeros((H, len(x), at.dv))
    for h, (A, B) in enumerate(zip(at.w("W1", H, at.dk, m), at.w("W2", H, m, at.dv))):
        M, N = np.zeros(A.shape), np.zeros(B.shape)
        for t in range(len(x)):
            pre = k[h, t] @ A
            s = sigmoid(pre)
            e = pre * s @ B - v[h, t]
            M = eta[h, t] * M - 0.1 * theta[h, t] * np.outer(k[h, t], e @ B.T * (s + pre * s * (1 - s)))
            N = eta[h, t] * N - 0.1 * theta[h, t] * np.outer(pre * s, e)
            A, B = keep[h, t] * A + M, keep[h, t] * B + N
            y[h, t] = silu(q[h, t] @ A) @ B
    return linear(at, merge(y), "out", at.d, False)


def log_linear(at, x, mem):  # Guo et al. 2025, eq. 4 to 6: the weight of a level is that of its bits
    q, k, v = projections(at, x, x)
    levels = at.option("log_linear.levels", 12)
    b = np.cumsum(-0.1 * softplus(linear(at, x, "decay", at.H)).T, 1)
    weights = heads(softplus(linear(at, x, "lambda", at.H * levels)), at.H)
    y = np.zeros((at.H, len(x), at.dv))
    for t in range(len(x)):
        for j in range(t + 1):
            w = weights[:, t, min((t ^ j).bit_length(), levels - 1)] * np.exp(b[:, t] - b[:, j])
            y[:, t] += (w * (q[:, t] * k[:, j]).sum(-1) / math.sqrt(at.dk))[:, None] * v[:, j]
    y, d = merge(y), at.H * at.dv
    y = y / np.sqrt((y**2).sum(-1, keepdims=True) + d * 1e-5) * math.sqrt(d)
    return linear(at, y * silu(linear(at, x, "gate", d, False)), "out", at.d, False)


def gru(at, x, first, u, d, back=False):  # Cho et al. 2014, eq. 5 to 8, but r multiplies the product h U
    a, U = linear(at, x, first, 3 * d), at.w(u, d, 3 * d)
    h, out = np.zeros(d), np.zeros((len(x), d))
    for t in range(len(x))[:: -1 if back else 1]:
        b = h @ U
        z, r = sigmoid(a[t, :d] + b[:d]), sigmoid(a[t, d : 2 * d] + b[d : 2 * d])
        h = (1 - z) * np.tanh(a[t, 2 * d :] + r * b[2 * d :]) + z * h
        out[t] = h
    return out


def lstm(at, x, first, u, d, back=False):  # Gers et al. 2000, eq. 1 to 7
    a, U = linear(at, x, first, 4 * d), at.w(u, d, 4 * d)
    h, m, out = np.zeros(d), np.zeros(d), np.zeros((len(x), d))
    for t in range(len(x))[:: -1 if back else 1]:
        i, f, o, g = np.split(a[t] + h @ U, 4)
        m = sigmoid(f) * m + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(m)
        out[t] = h
    return out


def recurrent_of(cell):
    def f(at, x, mem):
        if at.causal:
            return linear(at, cell(at, x, "in", "u", at.d), "out", at.d)
        there, back = cell(at, x, "in", "u", at.d // 2), cell(at, x, "in_back", "u_back", at.d // 2, True)
        return linear(at, np.concatenate([there, back], 1), "out", at.d)
    return f
