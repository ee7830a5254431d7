import ablate as ab


@ab.feed_forward(doc="half a gradient")
def half_detached(c, x):
    h = c.linear(x, "1", c.info.d_ff).tanh()
    return c.linear((h + h.detach()) * 0.5, "2", c.info.d_model)
