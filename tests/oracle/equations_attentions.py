"""Attentions in plain NumPy, from their papers' equations, one sentence at a time; rows are [tokens,d]."""
import math

import numpy as np

from equations_basics import (heads, linear, mask, merge, output, place, projections, read, relu, rotate, scores, sigmoid,
                              softmax, softplus, unit)
from equations_recurrences import (delta_net, delta_product, gated_delta_net, gated_linear, gru, kda, log_linear, low_rank, lstm,
                                   mamba2, recurrent_of, retention, rwkv7, titans)


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
    """Filters each column over the last `width` tokens, oldest first."""
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


def value_residual(at, x, mem):  # Zhou et al. 2024, eq. 5, for one or two layers
    q, k, v = projections(at, x, mem)
    first = at.net.__dict__.setdefault("first_values", {}).setdefault(at.role, [])
    if at.layer == 0:
        first.append(v)
    else:
        v = at.w("first", 1, first=0.5) * first.pop(0) + at.w("own", 1, first=0.5) * v
    return output(at, read(at, softmax(scores(at, q, k)), v))


ATTENTIONS = dict(
    additive=additive, aligned=aligned, convolutional=convolutional, cosine_similarity=cosine_similarity,
    delta_net=delta_net, delta_product=delta_product, differential=differential, dot=dot, entmax=entmax, gated=gated,
    gated_delta_net=gated_delta_net, gated_linear=gated_linear, gaussian_window=gaussian_window,
    grouped_query=grouped_query, hyena=hyena, kda=kda, linear=linear_attention, low_rank_value=low_rank_value,
    lstm=recurrent_of(lstm), mamba2=mamba2, moba=moba, path=path, recurrent=recurrent_of(gru), restricted=restricted,
    retention=retention, rwkv7=rwkv7, scaled_dot=scaled_dot, sigmoid=sigmoid_attention, sink=sink, softcap=softcap,
    synthesizer=synthesizer, talking_heads=talking_heads)
# beside experiments/parts/residuals-lm.ini, in Python
ATTENTIONS.update({"log_linear.py": log_linear, "titans.py": titans, "value_residual.py": value_residual})
