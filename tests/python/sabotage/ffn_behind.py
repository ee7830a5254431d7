import ablate as ab


@ab.feed_forward(doc="the row behind", claims=ab.MIXES_TOKENS)
def ffn_behind(c, x):
    return c.shift(x, -1)
