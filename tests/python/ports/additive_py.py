import math

import ablate as ab


@ab.attention(doc="twin of additive", hidden=ab.integer(8, 1, 512, "width of the scoring layer, per head [units]"))
def additive_py(c, x, mem, hidden):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    scale = math.sqrt(6.0 / (c.info.d_k + hidden))
    wq = q @ c.weight("wq", c.info.heads, c.info.d_k, hidden, scale=scale)
    wk = k @ c.weight("wk", c.info.heads, c.info.d_k, hidden, scale=scale)
    out = c.weight("score", c.info.heads, 1, hidden, scale=math.sqrt(3.0 / hidden))
    s = None
    for i in range(hidden):
        row = wk[..., i : i + 1].T
        term = (wq[..., i : i + 1] + row).tanh() * out[..., i : i + 1]
        s = term if s is None else s + term
    s = c.mask(c.position(s, q, k))
    return c.output(c.weighted_sum(c.dropout(c.softmax(s)), v))
