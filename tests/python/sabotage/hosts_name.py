import ablate as ab


@ab.attention(doc="a gain on the output", accepts=ab.EMBED | ab.ROTATE)
def hosts_name(c, x, mem):
    y = c.output(c.attend(c.query(x), c.key(mem), c.value(mem), 1))
    return y * c.weight("ln.g", c.info.d_model, scale=0.5)
