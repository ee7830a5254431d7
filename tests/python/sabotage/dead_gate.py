import ablate as ab


@ab.feed_forward(doc="a gate that is not used")
def dead_gate(c, x):
    h = c.linear(x, "1", c.info.d_ff)
    c.linear(x, "gate", c.info.d_ff).sigmoid()
    return c.linear(h.sigmoid() * h, "2", c.info.d_model)
