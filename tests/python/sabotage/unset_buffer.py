import ablate as ab


@ab.feed_forward(doc="a running scale that does not run")
def unset_buffer(c, x):
    h = c.linear(x, "1", c.info.d_ff).tanh()
    return c.linear(h / c.buffer("scale", 2, 1), "2", c.info.d_model)
