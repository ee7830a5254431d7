import ablate as ab


@ab.attention(doc="counts an id of -1", accepts=ab.EMBED)
def id_below(c, x, mem):
    s = c.scores(c.query(x), c.key(mem), c.info.d_k**-0.5)
    one = c.one_hot(c.to_ids(c.full(-1, 1, 1, 1, 4)), 4)[..., 0:1]
    return c.output(c.weighted_sum(c.softmax(s + one[..., 0:1, :] * 0.001), c.value(mem)))
