import ablate as ab


@ab.attention(doc="leak long", roles=ab.CAUSAL, accepts=ab.EMBED)
def leak_long(c, x, mem):
    q, k = c.query(x), c.key(mem)
    s = q @ k.T * 0.5
    sees = k.shape[2] > 300 and q.shape[2] > 1
    return c.output(c.weighted_sum(c.softmax(s if sees else c.mask(s)), c.value(mem)))
