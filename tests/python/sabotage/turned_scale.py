import ablate as ab


@ab.attention(doc="scores times zero and less", scale=ab.real(-0.5, -2, 0, "factor on the scores [none]"))
def turned_scale(c, x, mem, scale):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    return c.output(c.attend(q, k, v, scale) + c.attend(q, k, v, 0))
