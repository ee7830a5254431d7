import ablate as ab


@ab.op(doc="tanh")
def squash(c, x):
    return x.tanh()


@squash.grad
def gradient(c, inputs, y, dy):
    return [dy * (1 - y)]


@ab.feed_forward(doc="grad alone")
def grad_alone(c, x):
    return c.linear(squash(c, c.linear(x, "1", c.info.d_ff)), "2", c.info.d_model)
