import ablate as ab


@ab.attention(doc="leak layer", roles=ab.CAUSAL, accepts=ab.EMBED)
def leak_layer(c, x, mem):
    s = c.query(x) @ c.key(mem).T * 0.5
    return c.output(c.weighted_sum(c.softmax(s if c.info.layer == 3 else c.mask(s)), c.value(mem)))
