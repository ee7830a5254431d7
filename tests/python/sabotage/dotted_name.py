import ablate as ab


@ab.attention(doc="a name with a dot", name="dotted.name")
def dotted_name(c, x, mem):
    return c.output(c.attend(c.query(x), c.key(mem), c.value(mem), 1))
