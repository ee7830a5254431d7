import ablate as ab


@ab.attention(doc="queries and keys share a projection", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED | ab.ROTATE)
def shared(c, x, mem):
    q = c.key_step(x)
    return c.output(c.attend(q, c.key(mem), c.value(mem), q.shape[-1] ** -0.5))
