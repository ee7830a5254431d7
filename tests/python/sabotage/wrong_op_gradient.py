import ablate as ab


@ab.op(doc="x squared")
def square(c, x):
    return x.square()


@square.grad
def gradient(c, inputs, y, dy):
    return [dy * inputs[0]]


@ab.attention(doc="half the gradient of a square", accepts=ab.EMBED)
def wrong_op_gradient(c, x, mem):
    return c.output(square(c, c.attend(c.query(x), c.key(mem), c.value(mem), 1)))
