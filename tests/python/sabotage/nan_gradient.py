import ablate as ab


@ab.feed_forward(doc="relu, with a gradient that is NaN in fp32")
def nan_gradient(c, x):
    h = c.linear_relu(x, "1", c.info.d_ff)
    trap = (h * 0 + 1e-60).sqrt()
    return c.linear(c.dropout(h + trap * 0), "2", c.info.d_model)
