# says: `accepts` claims ab.BIAS_HOOK, but in an encoder such a position changes no output
import math

import ablate as ab


@ab.attention(doc="an encoder without positions", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED | ab.BIAS_HOOK)
def unplaced(c, x, mem):
    q, k, scale = c.query(x), c.key(mem), 1 / math.sqrt(c.info.d_k)
    s = c.mask(q @ k.T * scale) if c.info.role == ab.SELF else c.scores(q, k, scale)
    return c.output(c.weighted_sum(c.softmax(s), c.value(mem)))
