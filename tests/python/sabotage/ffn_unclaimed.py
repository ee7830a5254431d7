import ablate as ab


@ab.feed_forward(doc="the row before")
def ffn_unclaimed(c, x):
    return c.shift(x, 1)
