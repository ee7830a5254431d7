import ablate as ab


@ab.attention(doc="forgets the heads in a reshape", accepts=ab.EMBED)
def wrong_shape(c, x, mem):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    return c.output(c.attend(q, k, v, 1).reshape(q.shape[0], 1, q.shape[2], v.shape[3]))
