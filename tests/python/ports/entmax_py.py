import math

import ablate as ab


@ab.attention(doc="twin of entmax", alpha=ab.choice("1.5", ["1.5", "2"], "1.5: sparse weights; 2: sparsemax"))
def entmax_py(c, x, mem, alpha):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    p = c.entmax(c.scores(q, k, 1 / math.sqrt(c.info.d_k)), float(alpha))
    return c.output(c.weighted_sum(c.dropout(p), v))
