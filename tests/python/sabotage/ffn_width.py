import ablate as ab


@ab.feed_forward(doc="the second map is missing")
def ffn_width(c, x):
    return c.linear_relu(x, "1", c.info.d_ff)
