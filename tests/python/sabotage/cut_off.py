import ablate as ab


@ab.attention(doc="cuts the gradient off", accepts=ab.EMBED)
def cut_off(c, x, mem):
    s = c.scores(c.query(x), c.key(mem), c.info.d_k**-0.5)
    return c.output(c.weighted_sum(c.softmax(s), c.value(mem))).detach()
