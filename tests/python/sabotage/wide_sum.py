import ablate as ab


@ab.attention(doc="keys with much weight get less", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED | ab.ROTATE | ab.BIAS_HOOK)
def wide_sum(c, x, mem):
    s = c.scores(c.query(x), c.key(mem), 0.5)
    return c.output(c.weighted_sum(c.softmax(s - c.running_sum(c.softmax(s))), c.value(mem)))
