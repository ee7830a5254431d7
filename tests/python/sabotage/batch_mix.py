import ablate as ab


@ab.attention(doc="a sum over the batch", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED)
def batch_mix(c, x, mem):
    q, k, v, now = c.query(x), c.key(mem), c.value(mem), c.value_step(mem)
    return c.output(c.attend(q, k, v, 1) + now.sum(-4))
