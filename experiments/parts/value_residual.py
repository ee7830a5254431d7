"""ResFormer: each layer's values are a learned mean of its own and the first layer's."""

import math

import ablate as ab


@ab.attention(doc="dot products with the first layer's values beside its own",
              paper="Zhou et al. 2024 (Value Residual Learning), equation 5")
def value_residual(c, x, mem):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    if c.info.layer == 0:
        c.share("values", v)
    else:
        v = c.shared("values") * c.weight_full("first", 0.5, 1) + v * c.weight_full("own", 0.5, 1)
    scores = c.mask(c.position(c.scores(q, k, 1 / math.sqrt(c.info.d_k)), q, k))
    return c.output(c.weighted_sum(c.dropout(c.softmax(scores)), v))
