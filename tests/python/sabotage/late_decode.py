import ablate as ab


@ab.attention(doc="halves its scores in passes over more than 64 tokens", roles=ab.CAUSAL, accepts=ab.EMBED)
def late_decode(c, x, mem):
    q = c.query(x)
    return c.output(c.attend(q, c.key(mem), c.value(mem), 0.5 if q.shape[2] > 64 else 1))
