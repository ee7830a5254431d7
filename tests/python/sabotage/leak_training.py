import ablate as ab


@ab.attention(doc="leak training", roles=ab.CAUSAL, accepts=ab.EMBED)
def leak_training(c, x, mem):
    s = c.query(x) @ c.key(mem).T * 0.5
    return c.output(c.weighted_sum(c.softmax(s if c.info.training else c.mask(s)), c.value(mem)))
