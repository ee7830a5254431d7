import ablate as ab


@ab.feed_forward(doc="large numbers that cancel")
def rounded(c, x):
    h = c.linear(x, "1", c.info.d_ff).tanh()
    y = c.linear(h + 300, "2", c.info.d_model, bias=False)
    return y - c.linear(c.full(300, h.shape[-2], c.info.d_ff), "2", c.info.d_model, bias=False)
