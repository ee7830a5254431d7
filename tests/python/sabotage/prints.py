import ablate as ab


@ab.attention(doc="prints what it computes", accepts=ab.EMBED)
def prints(c, x, mem):
    s = c.scores(c.query(x), c.key(mem), c.info.d_k**-0.5)
    p = c.softmax(s)
    for name, t in (("rows", x), ("scores", s), ("weights", p), ("tokens", c.tokens())):
        c.print(name, t)
    return c.output(c.weighted_sum(c.dropout(p), c.value(mem)))
