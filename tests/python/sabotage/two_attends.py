import ablate as ab


@ab.attention(doc="keys and values change places", accepts=ab.EMBED)
def two_attends(c, x, mem):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    y = c.attend(q, k, v, q.shape[-1] ** -0.5)
    if k.shape[-1] == v.shape[-1]:
        y = y + c.attend(q, v, k, q.shape[-1] ** -0.5)
    return c.output(y)
