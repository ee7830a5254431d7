# fails: op_gradients
import ablate as ab


@ab.op(doc="adds noise")
def noisy(c, x):
    return x + c.uniform(1)


@noisy.grad
def gradient(c, inputs, y, dy):
    return [dy]


@ab.feed_forward(doc="noise where it may not be")
def noise_in_reference(c, x):
    return c.linear(noisy(c, x), "1", c.info.d_model)
