"""Log-linear attention: linear attention over blocks of positions that double with distance, each with its weight."""

import math

import ablate as ab


@ab.attention(doc="linear attention over log n states of growing reach", paper="Guo et al. 2025, eq. 4 to 6",
              roles=ab.CAUSAL, accepts=ab.EMBED | ab.ROTATE,
              levels=ab.integer(12, 2, 24, "weights of a query: blocks up to 2^(levels - 2) positions [levels]"))
def log_linear(c, x, mem, levels):
    H, d = c.info.heads, c.info.heads * c.info.d_v
    q, k, v = c.query(x) * (1 / math.sqrt(c.info.d_k)), c.key_step(mem), c.value_step(mem)
    decay = c.heads(c.softplus(c.linear(x, "decay", H)) * -0.1, H)
    weights = c.heads(c.softplus(c.linear(x, "lambda", H * levels)), H)
    y = c.merge(c.fenwick_scan(q, k, v, decay, weights))
    y = c.unit_length(y, d * 1e-5) * math.sqrt(d)
    return c.linear(y * c.silu(c.linear(x, "gate", d, bias=False)), "out", c.info.d_model, bias=False)
