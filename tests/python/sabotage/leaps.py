import ablate as ab


@ab.feed_forward(doc="half a gradient", claims=ab.DISCONTINUOUS)
def leaps(c, x):
    h = c.linear((x + x.detach()) * 0.5, "1", c.info.d_ff).tanh()
    return c.linear(h, "2", c.info.d_model)
