import ablate as ab


@ab.attention(doc="scores scaled by an integer division", roles=ab.SELF | ab.CAUSAL | ab.CROSS, accepts=ab.EMBED)
def integer_scale(c, x, mem):
    q = c.query(x)
    return c.output(c.attend(q, c.key(mem), c.value(mem), 1 // q.shape[3]))
