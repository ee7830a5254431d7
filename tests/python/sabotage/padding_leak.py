import ablate as ab


@ab.attention(doc="a mean over padding", roles=ab.SELF | ab.CROSS, accepts=ab.EMBED)
def padding_leak(c, x, mem):
    v = c.value(mem)
    return c.output(c.attend(c.query(x), c.key(mem), v, 1) + v.mean(-2))
