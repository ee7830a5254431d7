import ablate as ab


def rounded(c, x):
    return c.to_float(c.to_ids(x))


def straight_through(x, y):
    return x + (y - x).detach()


def bit_linear(c, x, name, width):
    w = c.weight(name, x.shape[-1], width, scale=0.4)
    mean = w.abs().sum(-1).sum(-2) * (1 / (x.shape[-1] * width))
    ternary = c.minimum(c.maximum(rounded(c, w / mean), -1), 1)
    most = x.abs().max(-1) + 1e-6
    steps = rounded(c, x / most * 127) * (1 / 127)
    return straight_through(x, steps * most) @ straight_through(w, ternary * mean)


@ab.feed_forward(doc="ternary weights", claims=ab.SURROGATE_GRADIENT | ab.DISCONTINUOUS)
def bitlinear(c, x):
    return bit_linear(c, bit_linear(c, x, "1", c.info.d_ff).relu(), "2", c.info.d_model)
