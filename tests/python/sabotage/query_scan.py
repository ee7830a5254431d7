import ablate as ab


def step(c, x, h):
    return (x + h * 0.9).tanh()


@ab.attention(doc="a recurrence beside attention", accepts=ab.EMBED | ab.ROTATE)
def query_scan(c, x, mem):
    u = c.pad(x)
    r = c.pack(c.scan(step, u, u.shape[-1]))
    return c.output(c.attend(c.query(x), c.key(mem), c.value(mem), 1)) + r
