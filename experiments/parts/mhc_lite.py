"""Residual streams that mix by doubly stochastic matrices, each a mean of permutations with learned weights."""

import itertools
import math

import ablate as ab

N = 4
ORDERS = list(itertools.permutations(range(N)))
PLACES = [[float(order[i] == j) for i in range(N) for j in range(N)] for order in ORDERS]


def mixtures(c, h, name, first):
    """Shares of each stream in the sublayer's input, of its output in each stream, and of the streams in each other."""
    together = c.concat(c.concat(h[0], h[1], -1), c.concat(h[2], h[3], -1), -1)
    width = together.shape[-1]
    unit = c.unit_length(together) * math.sqrt(width) * c.weight_full(f"{name}.gain", 1, width)
    by_token = unit @ c.weight(f"{name}.maps", width, 2 * N + len(ORDERS))

    def part(kind, begin, start):
        n = len(start)
        scale = c.weight_full(f"{name}.{kind}.scale", 0.01, 1)
        return by_token[..., begin : begin + n] * scale + (c.weight(f"{name}.{kind}", 1, n) + c.constant(start, 1, n))

    one = [1.0 if i == first else -1.0 for i in range(N)]
    orders = c.softmax(part("res", 2 * N, [0.0] + [-8.0] * (len(ORDERS) - 1)))
    res = orders @ c.constant(PLACES, len(ORDERS), N * N)
    return part("pre", 0, one).sigmoid(), 2 * part("post", N, one).sigmoid(), res


def mixed(h, shares, at=0):
    parts = [h[i] * shares[..., at + i : at + i + 1] for i in range(N)]
    return parts[0] + parts[1] + (parts[2] + parts[3])


@ab.block(doc="four residual streams, mixed by means of permutations", paper="Yang and Gao 2026 (mHC-lite), section 4")
class mhc_lite:
    @staticmethod
    def forward(c, x):
        h = [c.shared(f"stream{i}") if c.info.layer else x for i in range(N)]
        sublayers = [("self", c.self_attention)]
        if c.info.cross:
            sublayers.append(("cross", c.cross_attention))
        if c.info.feed_forward:
            sublayers.append(("ffn", lambda t: c.feed_forward(t, "ffn")))
        for name, sublayer in sublayers:
            pre, post, res = mixtures(c, h, f"mhc.{name}", c.info.layer % N)
            y = sublayer(c.normalize(mixed(h, pre), f"{name}.ln"))
            h = [c.add_dropout(mixed(h, res, N * i), y * post[..., i : i + 1]) for i in range(N)]
        for i in range(N):
            c.share(f"stream{i}", h[i])
        return h[0] + h[1] + (h[2] + h[3])

    @staticmethod
    def finish(c, x):
        return c.normalize(x, "ln")
