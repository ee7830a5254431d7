import ablate as ab


@ab.feed_forward(doc="batch training")
def batch_training(c, x):
    h = c.linear(x, "1", c.info.d_ff)
    if c.info.training:
        h = h - h.mean(-2)
    return c.linear(h.tanh(), "2", c.info.d_model)
