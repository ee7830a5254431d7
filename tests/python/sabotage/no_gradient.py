import ablate as ab


@ab.feed_forward(doc="no gradient", claims=ab.SURROGATE_GRADIENT)
def no_gradient(c, x):
    h = c.linear(x, "1", c.info.d_ff).tanh()
    zero = h - h.detach()  # its square root has no finite gradient
    return c.linear(h + zero.sqrt(), "2", c.info.d_model)
