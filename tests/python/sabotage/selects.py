import ablate as ab


@ab.attention(doc="attends to near keys, by selection", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED | ab.BIAS_HOOK)
def selects(c, x, mem):
    s = c.scores(c.query(x), c.key(mem), 0.5)
    near = c.relative_position(c.qpos(), c.kpos()).abs() < 3
    s = c.mask(c.where(near, c.where(c.full(0, 1), float("nan"), s), -1e9))
    return c.output(c.weighted_sum(c.softmax(s), c.value(mem)))
