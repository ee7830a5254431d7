import ablate as ab


@ab.attention(doc="an attention that assigns", accepts=ab.EMBED | ab.ROTATE)
def assigns(c, x, mem):
    y = c.attend(c.query(x), c.key(mem), c.value(mem), 1)
    c.assign(y, y * 2)
    return c.output(y)
