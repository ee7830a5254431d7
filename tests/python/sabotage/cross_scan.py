import ablate as ab


def step(c, x, h):
    return (x + h * 0.9).tanh()


@ab.attention(doc="a recurrence over the source", roles=ab.CROSS, accepts=ab.EMBED)
def cross_scan(c, x, mem):
    d = c.info.d_model
    states = c.scan(step, c.pad(c.linear(mem, "m", d)), d)
    last = states[..., states.shape[-2] - 1 :, :]  # [1,B,1,d]
    return c.pack(c.pad(c.linear(x, "x", d)) + last)
