"""Attentions, positions, feed-forwards, norms and blocks in plain NumPy, from their papers' equations, one sentence at
a time. A plugin gets its place (plugins.py): its sizes, settings, and learned values by name. Rows are [tokens,d]."""
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


# ---- positions: what is added to the embedding, a rotation, terms of the scores and of the output ----


class Position:
    def embed(self, at, x):
        return x

    def rotate(self, at, q):
        return q

    def scores(self, at, q, n_keys):
        """[H,Tq,Tk], added to scale q k'."""
        return 0

    def values(self, at, p):
        """[H,Tq,d_v], added to p v."""
        return 0


class Sinusoid(Position):  # Vaswani et al. 2017, section 3.5
    def embed(self, at, x):
        d, pe = x.shape[1], np.zeros(x.shape)
        for t in range(len(x)):
            for j in range(d):
                angle = t / 10000 ** ((j - j % 2) / d)
                pe[t, j] = math.cos(angle) if j % 2 else math.sin(angle)
        return x + pe


class Learned(Position):  # Gehring et al. 2017, section 3.1
    def embed(self, at, x):
        return x + at.w("pos", at.option("learned.max_len", 1024), x.shape[1])[: len(x)]


class Rotary(Position):  # Su et al. 2021, eq. 34; pairs are i and i + d / 2, as in GPT-NeoX
    def rotate(self, at, q):
        half = q.shape[-1] // 2
        angle = np.arange(q.shape[1])[:, None] * 10000.0 ** (-2 * np.arange(half) / q.shape[-1])
        a, b = q[..., :half], q[..., half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


def distances(n_queries, n_keys):
    return np.arange(n_keys)[None, :] - np.arange(n_queries)[:, None]


class Alibi(Position):  # Press et al. 2022, section 3: slopes 2^(-8 h / H), h = 1 .. H
    def scores(self, at, q, n_keys):
        slopes = 2.0 ** (-8 * np.arange(1, at.H + 1) / at.H)
        return -slopes[:, None, None] * abs(distances(q.shape[1], n_keys))


class Kerple(Position):  # Chi et al. 2022, eq. 3, the logarithmic variant
    def scores(self, at, q, n_keys):
        r1, r2 = (softplus(at.w(n, at.H, first=0.0)) for n in ("kerple_r1", "kerple_r2"))
        away = abs(distances(q.shape[1], n_keys))
        return -r1[:, None, None] * np.log(1 + r2[:, None, None] * away)


class T5(Position):  # Raffel et al. 2020, section 2.1, and its program's buckets
    def bucket(self, away, n, most, both):
        first = 0
        if both:
            n //= 2
            first = n if away > 0 else 0
            away = abs(away)
        else:
            away = max(-away, 0)
        exact = n // 2
        if away < exact:
            return first + away
        far = exact + int(math.log(away / exact) / math.log(most / exact) * (n - exact))
        return first + min(far, n - 1)

    def scores(self, at, q, n_keys):
        n, most = at.option("t5.buckets", 32), at.option("t5.max_distance", 128)
        table = at.w("rel_bias", at.H, n)
        away = distances(q.shape[1], n_keys)
        ids = np.array([[self.bucket(int(a), n, most, not at.causal) for a in row] for row in away])
        return table[:, ids]


class Shaw(Position):  # Shaw et al. 2018, eq. 3 and 4
    def vectors(self, at, name, width, n_queries, n_keys):
        clip = at.option("shaw.clip", 16)
        return at.w(name, 2 * clip + 1, width)[np.clip(distances(n_queries, n_keys), -clip, clip) + clip]

    def scores(self, at, q, n_keys):
        return np.einsum("hid,ijd->hij", q, self.vectors(at, "rel_k", q.shape[2], q.shape[1], n_keys)) / math.sqrt(at.dk)

    def values(self, at, p):
        return np.einsum("hij,ijd->hid", p, self.vectors(at, "rel_v", at.dv, *p.shape[1:]))


POSITIONS = dict(alibi=Alibi(), kerple=Kerple(), learned=Learned(), none=Position(), rotary=Rotary(), shaw=Shaw(),
                 sinusoid=Sinusoid(), t5=T5())

# ---- attentions ----


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


def scaled_dot(at, x, mem):  # Vaswani et al. 2017, eq. 1
    q, k, v = projections(at, x, mem)
    return output(at, read(at, softmax(scores(at, q, k, 1 / (math.sqrt(at.dk) * at.option("scaled_dot.temperature", 1)))), v))


def dot(at, x, mem):  # Luong et al. 2015, section 3.1
    q, k, v = projections(at, x, mem)
    return output(at, read(at, softmax(scores(at, q, k, 1)), v))


def additive(at, x, mem):  # Bahdanau et al. 2015, appendix A.1.2
    q, k, v = projections(at, x, mem)
    n = at.option("additive.hidden", 8)
    wq, wk = (a @ at.w(name, at.H, at.dk, n) for a, name in ((q, "wq"), (k, "wk")))
    s = (np.tanh(wq[:, :, None] + wk[:, None]) * at.w("score", at.H, 1, n)[:, :, None]).sum(-1)
    return output(at, read(at, softmax(mask(at, place(at, s, q))), v))


def cosine_similarity(at, x, mem):  # a learned factor per head times cos(q, k); 1e-6 keeps lengths above 0
    q, k, v = projections(at, x, mem)
    q, k = (a / np.sqrt((a**2).sum(-1, keepdims=True) + 1e-6) for a in (q, k))
    s = (q @ k.transpose(0, 2, 1)) * at.w("factor", at.H, 1, 1, first=10.0)
    return output(at, read(at, softmax(mask(at, place(at, s, q))), v))


def entmax_of(s, alpha):
    """Peters et al. 2019, algorithm 2 (alpha 1.5), and Martins and Astudillo 2016, algorithm 1 (alpha 2)."""
    p = np.zeros(s.shape)
    for at in np.ndindex(s.shape[:-1]):
        z = s[at] * (alpha - 1)
        z = np.sort(z[np.isfinite(z)])[::-1]
        n = np.arange(1, len(z) + 1)
        if alpha == 2:
            taus = (np.cumsum(z) - 1) / n
        else:
            mean, square = np.cumsum(z) / n, np.cumsum(z**2) / n
            taus = mean - np.sqrt(np.maximum((1 - n * (square - mean**2)) / n, 0))
        tau = taus[(taus <= z).sum() - 1]
        p[at] = np.maximum(s[at] * (alpha - 1) - tau, 0) ** (1 / (alpha - 1))
    return p


def entmax(at, x, mem):
    q, k, v = projections(at, x, mem)
    return output(at, read(at, entmax_of(scores(at, q, k), float(at.option("entmax.alpha", 1.5))), v))


def gated(at, x, mem):  # y sigmoid(x W) before the output projection (Qiu et al. 2025)
    q, k, v = projections(at, x, mem)
    y = merge(read(at, softmax(scores(at, q, k)), v))
    return linear(at, y * sigmoid(linear(at, x, "gate", at.H * at.dv)), "out", at.d)


def grouped_query(at, x, mem):  # Shazeer 2019; Ainslie et al. 2023: kv_heads = 1
    q = rotate(at, heads(linear(at, x, "q", at.H * at.dk), at.H))
    k = rotate(at, heads(linear(at, mem, "k", at.dk), 1))
    v = heads(linear(at, mem, "v", at.dv), 1)
    p = softmax(scores(at, q, np.repeat(k, at.H, 0)))
    return output(at, read(at, p, np.repeat(v, at.H, 0)))


def low_rank_value(at, x, mem):
    q, k = (rotate(at, heads(linear(at, a, n, at.H * at.dk), at.H)) for a, n in ((x, "q"), (mem, "k")))
    v = linear(at, linear(at, mem, "v_in", at.option("low_rank_value.rank", 32), False), "v_out", at.H * at.dv, False)
    return output(at, read(at, softmax(scores(at, q, k)), heads(v, at.H)))


def softcap(at, x, mem):  # Gemma team 2024, section 2: cap tanh(s / cap), then positions and mask
    q, k, v = projections(at, x, mem)
    cap = at.option("softcap.cap", 50)
    s = cap * np.tanh(q @ k.transpose(0, 2, 1) / math.sqrt(at.dk) / cap)
    return output(at, read(at, softmax(mask(at, place(at, s, q))), v))


def sigmoid_attention(at, x, mem):  # Ramapuram et al. 2024, section 3
    q, k, v = projections(at, x, mem)
    s = scores(at, q, k)
    if at.option("sigmoid.bias", "length") == "length":
        seen = np.arange(1, len(x) + 1)[:, None] if at.causal else len(mem)
        s = s - np.log(seen)
    return output(at, read(at, sigmoid(s), v))


def sink(at, x, mem):  # OpenAI 2025 (gpt-oss), section 2; zero: Xiao et al. 2024, section 3
    q, k, v = projections(at, x, mem)
    s = scores(at, q, k)
    extra = np.zeros((at.H, 1, 1)) if at.option("sink.logit", "learned") == "zero" else at.w("sink", at.H, 1, 1)
    s = np.concatenate([s, np.broadcast_to(extra, (at.H, len(x), 1))], 2)
    return output(at, read(at, softmax(s)[:, :, :-1], v))


def talking_heads(at, x, mem):  # Shazeer et al. 2020, section 3: heads mixed before and after the softmax
    q, k, v = projections(at, x, mem)
    s = place(at, q @ k.transpose(0, 2, 1) / math.sqrt(at.dk), q)
    s = np.einsum("gij,gh->hij", s, at.w("scores", at.H, at.H))
    p = np.einsum("gij,gh->hij", softmax(mask(at, s)), at.w("weights", at.H, at.H))
    return output(at, read(at, p, v))


def restricted(at, x, mem):  # Vaswani et al. 2017, section 4: a neighbourhood of r
    q, k, v = projections(at, x, mem)
    s, r = scores(at, q, k), at.option("restricted.r", 8)
    centre = np.minimum(np.arange(len(x)), len(mem) - 1) if at.cross else np.arange(len(x))
    far = abs(np.arange(len(mem))[None, :] - centre[:, None]) > r
    return output(at, read(at, softmax(np.where(far, -np.inf, s)), v))


def differential(at, x, mem):  # Ye et al. 2024, eq. 1 to 3; a head's d_k columns serve both maps, half each, even
    half = (at.dk + 3) // 4 * 2
    q, k = (rotate(at, heads(linear(at, a, n, 2 * at.H * half), 2 * at.H)) for a, n in ((x, "q"), (mem, "k")))
    v = heads(linear(at, mem, "v", at.H * at.dv), at.H)
    first = 0.8 - 0.6 * math.exp(-0.3 * at.layer)
    parts = [np.exp((at.w("lambda_q" + i, half) * at.w("lambda_k" + i, half)).sum()) for i in "12"]
    p, m = (softmax(scores(at, q[a], k[a], 1 / math.sqrt(half))) for a in (slice(0, at.H), slice(at.H, None)))
    y = read(at, p - (parts[0] - parts[1] + first) * m, v)
    y = y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-5) * at.w("norm", at.dv, first=1.0)
    return output(at, (1 - first) * y)


def moba(at, x, mem):  # Lu et al. 2025, section 2.2, eq. 2 to 6
    q, k, v = projections(at, x, mem)
    s, size, top = scores(at, q, k), at.option("moba.block", 16), at.option("moba.top_k", 3)
    blocks, seen = -(-len(x) // size), np.zeros(s.shape, bool)
    for h, i in np.ndindex(at.H, len(x)):
        own = i // size
        others = [b for b in range(blocks) if b != own and (b < own or not at.causal)]
        like = {b: q[h, i] @ k[h, b * size : (b + 1) * size].mean(0) for b in others}
        for b in [own] + sorted(others, key=lambda b: -like[b])[: top - 1]:
            seen[h, i, b * size : (b + 1) * size] = True
    return output(at, read(at, softmax(np.where(seen, s, -np.inf)), v))


def synthesizer(at, x, mem):  # Tay et al. 2020, sections 3.1 (dense) and 3.2 (random)
    n, T = at.option("synthesizer.max_len", 256), len(x)
    v = heads(linear(at, mem, "v", at.H * at.dv), at.H)
    if at.option("synthesizer.kind", "dense") == "random":
        s = at.w("pairs", n, at.H * n).reshape(n, at.H, n).transpose(1, 0, 2)[:, :T, :T]
    else:
        hidden = heads(relu(linear(at, x, "hidden", at.H * at.dk)), at.H)
        s = (hidden @ at.w("places", at.H, at.dk, n))[:, :, :T]
    return output(at, read(at, softmax(mask(at, s)), v))


def aligned(at, x, mem):  # Kalchbrenner et al. 2016, section 3.1: the source row at the same place
    v, y = linear(at, mem, "v", at.H * at.dv), np.zeros((len(x), at.H * at.dv))
    n = min(len(x), len(mem))
    y[:n] = v[:n]
    return linear(at, y, "o", at.d)


def gaussian_window(at, x, mem):  # Graves 2013, eq. 46 to 51: steps exp, here softplus so that they begin at `step`
    q, k, v = projections(at, x, mem)
    step, width = 0.5, 8.0
    grows = lambda name, first: softplus(linear(at, x, name, at.H).T + math.log(math.expm1(first)))
    centre, narrow = np.cumsum(grows("step", step), 1), grows("narrow", 1 / (2 * width * width))
    away = centre[:, :, None] - np.arange(len(mem))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(at.dk) - narrow[:, :, None] * away**2
    return output(at, read(at, softmax(s), v))


def linear_attention(at, x, mem):  # Katharopoulos et al. 2020, eq. 4 to 12, phi = elu + 1
    q, k, v = projections(at, x, mem)
    phi = lambda a: np.where(a > 0, a + 1, np.exp(np.minimum(a, 0)))
    w = mask(at, phi(q) @ phi(k).transpose(0, 2, 1), 0)
    return output(at, w @ v / (w.sum(-1, keepdims=True) + 1e-6))


def decayed(at, x, log_keep, gate_bias):
    """Both directions in the encoder; log_keep [H,T,d_k]: how much of the state each token keeps."""
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
    """Each column over the last `width` tokens, or in the encoder those around; oldest first."""
    w, out = at.w(name, width, y.shape[1]), np.zeros(y.shape)
    before = width - 1 if at.causal else width // 2
    for t in range(len(y)):
        for i in range(width):
            if 0 <= t + i - before < len(y):
                out[t] += w[i] * y[t + i - before]
    return out


def state_scan(q, k, v, beta, keep, delta):
    """q_t S_t, [H,T,d_v]; S_t = a S + beta k' (v - delta a k S)."""
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
    """Steps dt [H,T] and kept shares exp(-exp(A) dt); the heads begin at 1 .. 16 and 0.001 .. 0.1, spread evenly."""
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
    """q_t S_t, [H,T,d_v]; S_t = diag(decay_t) S changed by step(S, h, *rows of t); both directions in the encoder."""
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


def unit(x):
    return x / np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6)


def low_rank(at, x, name, rank, n, bias=True):
    return linear(at, linear(at, x, name + "_down", rank, False), name + "_up", n, bias)


def first_values(at, v):
    """Keeps a sentence's values of layer 0 and returns None; in later layers returns them, sentence by sentence."""
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


def path(at, x, mem):  # Yang et al. 2025, eq. 3
    q, k, v = projections(at, x, mem)
    rank, width = at.option("path.rank", 32), at.option("path.width", 3)
    w = unit(heads(short_conv_of(at, low_rank(at, mem, "w", rank, at.H * at.dk, False), "w_conv", width), at.H))
    beta = 2 * sigmoid(heads(linear(at, mem, "beta", at.H), at.H))
    s = np.full((at.H, len(x), len(x)), -np.inf)
    for h, i in np.ndindex(at.H, len(x)):
        row = q[h, i]
        for j in range(i, -1, -1):
            s[h, i, j] = row @ k[h, j] / math.sqrt(at.dk)
            row = row - beta[h, j] * (row @ w[h, j]) * w[h, j]
    return output(at, read(at, softmax(s), v))


def short_conv_of(at, y, name, width):
    """Each column over the last `width` tokens, oldest first."""
    w, before = at.w(name, width, y.shape[1]), np.concatenate([np.zeros((width - 1, y.shape[1])), y])
    return sum(w[i] * before[i : i + len(y)] for i in range(width))


def hyena(at, x, mem):  # Poli et al. 2023, section 3
    n, order, length, bands, width = at.H * at.dv, 2, at.option("hyena.length", 256), at.option("hyena.bands", 16), \
        at.option("hyena.width", 32)
    p, T = linear(at, x, "in", (order + 1) * n), len(x)
    w, around = at.w("conv", 3, (order + 1) * n), 2 if at.causal else 1
    conv = np.zeros(p.shape)
    for t in range(T):
        for i in range(3):
            if 0 <= t + i - around < T:
                conv[t] += w[i] * p[t + i - around]
    lags = np.arange(T)[:, None] - np.arange(T)[None, :]
    t = lags.reshape(-1, 1) / length
    waves = 2 * math.pi * np.arange(1, bands + 1) * t
    feature = np.concatenate([t, np.stack([np.cos(waves), np.sin(waves)], -1).reshape(len(t), -1)], 1)
    h = np.sin(14 * linear(at, feature, "filter.in", width))
    h = np.sin(14 * linear(at, h, "filter.hidden", width))
    share = np.arange(n) / (n - 1)
    rate = math.log(100) * ((1 - share) / 1.5 + share / 0.3)
    h = linear(at, h, "filter.out", order * n, False).reshape(T, T, order, n)
    h = h * (np.exp(-rate * abs(t)) + 0.05).reshape(T, T, 1, n)
    if at.causal:
        h = h * (lags >= 0)[:, :, None, None]
    z, skip = conv[:, :n], at.w("skip", order, n)
    for o in range(order):
        z = conv[:, (o + 1) * n : (o + 2) * n] * (np.einsum("tsj,sj->tj", h[:, :, o], z) + skip[o] * z)
    return linear(at, z, "out", at.d)


def gru(at, x, first, u, d, back=False):  # Cho et al. 2014, eq. 5 to 8, r behind the product
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


def convolutional(at, x, mem):  # Gehring et al. 2017, section 3; Kalchbrenner et al. 2016, section 3.3
    D, glu = at.option("convolutional.dilation", 1), at.option("convolutional.glu", "false") == "true"
    reach, seen = (2 if at.causal else 1) * D, np.zeros((len(x), 3, at.d))
    for t in range(len(x)):
        for i in range(3):
            if 0 <= t + i * D - reach < len(x):
                seen[t, i] = x[t + i * D - reach]
    if at.option("convolutional.separable", "false") == "true":
        seen = (seen * at.w("depthwise", 3, at.d)).sum(1)
    y = linear(at, seen.reshape(len(x), -1), "w", (2 if glu else 1) * at.d)
    return y[:, : at.d] * sigmoid(y[:, at.d :]) if glu else y


ATTENTIONS = dict(
    additive=additive, aligned=aligned, convolutional=convolutional, cosine_similarity=cosine_similarity,
    delta_net=delta_net, delta_product=delta_product, differential=differential, dot=dot, entmax=entmax, gated=gated,
    gated_delta_net=gated_delta_net, gated_linear=gated_linear, gaussian_window=gaussian_window,
    grouped_query=grouped_query, hyena=hyena, kda=kda, linear=linear_attention, low_rank_value=low_rank_value,
    lstm=recurrent_of(lstm), mamba2=mamba2, moba=moba, path=path, recurrent=recurrent_of(gru), restricted=restricted,
    retention=retention, rwkv7=rwkv7, scaled_dot=scaled_dot, sigmoid=sigmoid_attention, sink=sink, softcap=softcap,
    synthesizer=synthesizer, talking_heads=talking_heads)

# ---- feed-forwards: they get the rows of all sentences ----


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


def soft_moe(at, xs):  # Puigcerver et al. 2023, section 2; in a decoder the softmax over tokens ends with the token
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

# ---- blocks: self, cross, feed and norm take and return the rows of all sentences ----


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


BLOCKS = dict(hyper_connections=hyper_connections, macaron=macaron, parallel=parallel, post_norm=post_norm, pre_norm=pre_norm, rezero=rezero,
              sandwich=sandwich)
