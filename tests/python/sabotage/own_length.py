import math

import ablate as ab


@ab.attention(doc="scores times the logarithm of the number of keys", accepts=ab.EMBED | ab.BIAS_HOOK)
def own_length(c, x, mem):
    s = c.scores(c.query(x) * (c.klen() + 1).log(), c.key(mem), 1 / math.sqrt(c.info.d_k))
    return c.output(c.weighted_sum(c.softmax(s), c.value(mem)))
