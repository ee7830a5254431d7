import ablate as ab


@ab.attention(doc="leak depth", roles=ab.CAUSAL, accepts=ab.EMBED)
def leak_depth(c, x, mem):
    s = c.query(x) @ c.key(mem).T * 0.5
    return c.output(c.weighted_sum(c.softmax(s if c.info.n_layers == 6 else c.mask(s)), c.value(mem)))
