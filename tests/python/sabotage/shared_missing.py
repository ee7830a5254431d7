import ablate as ab


@ab.feed_forward(doc="takes what nobody gave")
def shared_missing(c, x):
    x = x + c.shared("value")
    return c.linear(x, "1", c.info.d_model)
