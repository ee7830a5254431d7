import ablate as ab


@ab.attention(doc="dropout on queries and outputs", accepts=ab.EMBED | ab.ROTATE)
def own_dropout(c, x, mem):
    y = c.attend(c.dropout(c.query(x), 0.3), c.key(mem), c.value(mem), 1)
    return c.dropout(c.output(c.dropout(y, 0.2)), 0.1)
