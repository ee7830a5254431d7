import ablate as ab


@ab.attention(doc="weights of which only one part is masked", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED | ab.ROTATE)
def masks_half(c, x, mem):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    s = q @ k.T * 0.5 + 0.1
    return c.output(c.weighted_sum(c.mask(s).exp() - (s * 0.5).exp(), v))
