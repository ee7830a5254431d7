import ablate as ab


@ab.attention(doc="scales by 2 to the number of tokens and back", roles=ab.SELF, accepts=ab.EMBED)
def long_overflow(c, x, mem):
    q = c.query(x)
    grow = 2.0 ** q.shape[2]
    return c.output(c.attend(q, c.key(mem), c.value(mem), 1) * grow * (1 / grow))
