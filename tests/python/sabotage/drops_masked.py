import math

import ablate as ab


@ab.attention(doc="dropped scores become 0", accepts=ab.EMBED | ab.BIAS_HOOK)
def drops_masked(c, x, mem):
    s = c.scores(c.query(x), c.key(mem), 1 / math.sqrt(c.info.d_k))
    if c.info.training and c.info.dropout > 0:
        dropped = c.uniform(s.shape[0], c.info.heads, s.shape[2], s.shape[3]) < c.info.dropout
        s = c.where(dropped, c.full(0, 1), s)
    return c.output(c.weighted_sum(c.softmax(s), c.value(mem)))
