import ablate as ab


@ab.feed_forward(doc="rows see each other")
def ffn_mixes_rows(c, x):
    y = c.linear(x, "1", c.info.d_model)
    return y + y.sum(-2)
