"""Gradient descent with momentum: a starting point."""

import ablate as ab


@ab.optimizer(doc="what it does, in one line", paper="who, when, equation", slots=("m",), elementwise=True)
def NAME(c, p, g, slot, lr, step):  # parameter, gradient, state, rate, number of the update
    m = slot[0] * 0.9 + g
    c.assign(slot[0], m)
    c.assign(p, p - m * lr)
