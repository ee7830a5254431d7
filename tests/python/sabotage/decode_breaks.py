import ablate as ab


def before(c, v):
    time, none = v.shape[-2], v[..., 0:1, :] * 0
    return c.concat(none, v[..., : time - 1, :], -2) if time > 1 else none


@ab.attention(doc="mixes over time without the host's memory", roles=ab.CAUSAL, accepts=ab.EMBED)
def decode_breaks(c, x, mem):
    q, k, v, now = c.query(x), c.key(mem), c.value(mem), c.value_step(mem)
    return c.output(c.attend(q, k, v, 1) + before(c, now))
