import ablate as ab


@ab.attention(doc="batch large", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED)
def batch_large(c, x, mem):
    y = c.weighted_sum(c.softmax(c.scores(c.query(x), c.key(mem), 0.5)), c.value(mem))
    if y.shape[0] > 6 and y.shape[2] > 1:
        y = y + y[..., 0:1, :].sum(0)
    return c.output(y)
