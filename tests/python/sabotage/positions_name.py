import ablate as ab


@ab.attention(doc="queries with a vector of their own")
def positions_name(c, x, mem):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    table = c.weight("rel_k", 33, c.info.d_k, scale=0.5)
    return c.output(c.attend(q + table[..., 0:1, :], k, v, 1))
