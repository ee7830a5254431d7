import ablate as ab


@ab.feed_forward(doc="a hyperbolic tangent that calls itself relu", name="relu")
def own_name(c, x):
    return c.linear(c.linear(x, "1", c.info.d_ff).tanh(), "2", c.info.d_model)
