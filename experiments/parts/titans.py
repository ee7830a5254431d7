"""A network of two layers as the memory of a sentence: each token is a step of gradient descent, with momentum."""

import math

import ablate as ab


def split(x, shapes):
    """Takes rows [B,n] apart into tensors [B,heads,..] of these shapes."""
    parts, at = [], 0
    for shape in shapes:
        n = math.prod(shape)
        parts.append(x[..., at : at + n].reshape(x.shape[-2], *shape))
        at += n
    return parts


def join(c, parts):
    """Puts tensors [B,heads,..] side by side in rows [B,n]."""
    rows = [p.reshape(p.shape[0], math.prod(p.shape[1:])) for p in parts]
    for row in rows[1:]:
        rows[0] = c.concat(rows[0], row, -1)
    return rows[0]


@ab.attention(doc="a memory network, trained at each token", paper="Behrouz et al. 2025 (Titans), eq. 8 to 14",
              roles=ab.CAUSAL, accepts=ab.EMBED,
              hidden=ab.integer(8, 1, 1024, "hidden columns of a head's memory [columns]"))
def titans(c, x, mem, hidden):
    H, d_k, d_v = c.info.heads, c.info.d_k, c.info.d_v
    tokens = [(H, 1, d_k), (H, 1, d_k), (H, 1, d_v), (H, 1, 1), (H, 1, 1), (H, 1, 1)]
    layers = [(H, d_k, hidden), (H, hidden, d_v)]
    state = layers + layers + [(H, 1, d_v)]
    first = [c.weight(f"W{i + 1}", *s, scale=math.sqrt(6 / (s[1] + s[2]))) for i, s in enumerate(layers)]

    def recall(c, weights, row):
        return c.silu(row @ weights[0]) @ weights[1]

    def step(c, x_t, h):
        q, k, v, momentum, rate, keep = split(x_t, tokens)
        parts = split(h, state)
        weights, moves = [parts[0] + first[0], parts[1] + first[1]], parts[2:4]
        error = recall(c, weights, k) - v
        loss = error * error * 0.5
        moves = [momentum * s - rate * c.gradient(loss, w) for s, w in zip(moves, weights)]
        weights = [keep * w + s for w, s in zip(weights, moves)]
        return join(c, [weights[0] - first[0], weights[1] - first[1], *moves, recall(c, weights, q)])

    n = x.shape[-2]
    qk = c.unit_length(c.silu(c.linear(x, "qk", 2 * H * d_k, bias=False)).reshape(n, 2 * H, 1, d_k), 1e-6)
    v = c.silu(c.linear(x, "v", H * d_v, bias=False))
    rates = c.linear(x, "rates", 3 * H).sigmoid()  # momentum, a step of at most 0.1, what is kept
    rates = [rates[..., :H], rates[..., H : 2 * H] * 0.1, rates[..., 2 * H :]]
    d = sum(map(math.prod, state))
    rows = join(c, [qk, *(row.reshape(n, H, 1, row.shape[-1] // H) for row in (v, *rates))])
    y = c.scan(step, c.pad(rows), d)[..., d - H * d_v :]
    return c.linear(c.pack(y), "out", c.info.d_model, bias=False)
