import ablate as ab


@ab.feed_forward(doc="large numbers that cancel")
def unrounded(c, x):
    h = c.linear(x, "1", c.info.d_ff).tanh()
    near = c.fp32(c.full(300, h.shape[-2], c.info.d_ff))
    return c.linear(c.fp32(h + 300), "2", c.info.d_model, bias=False) - c.linear(near, "2", c.info.d_model, bias=False)
