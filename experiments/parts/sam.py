"""Adam by the gradient at the worst point nearby: sharpness-aware minimisation."""

import math

import ablate as ab


def one_minus_power(beta, step):
    return -(step * math.log(beta)).exp() + 1


@ab.optimizer(doc="Adam, sharpness-aware", paper="Foret et al. 2021 (SAM), algorithm 1", slots=("m", "v"),
              elementwise=True,
              rho=ab.real(0.05, 0, 10, "distance to the point of the second gradient [none]"),
              beta1=ab.real(0.9, 1e-6, 0.999999, "decay of the mean gradient [none]"),
              beta2=ab.real(0.98, 1e-6, 0.9999999, "decay of the mean squared gradient [none]"),
              eps=ab.real(1e-9, 1e-20, 1, "added to the root [none]"))
class sam:
    @staticmethod
    def measure(c, p, g, slot, lr, step, **_):
        total = g.square()
        for axis in range(-4, 0):
            total = c.sum(total, axis)
        return total

    @staticmethod
    def shift(c, p, g, slot, lr, step, rho, **_):
        c.assign(p, p + g * ((c.measured(0) + 1e-30).sqrt().recip() * rho))  # equation 2

    @staticmethod
    def update(c, p, g, slot, lr, step, beta1, beta2, eps, **_):
        g = c.second_gradient()
        m = slot[0] * beta1 + g * (1 - beta1)
        v = slot[1] * beta2 + g.square() * (1 - beta2)
        c.assign(slot[0], m)
        c.assign(slot[1], v)
        change = m / one_minus_power(beta1, step) / ((v / one_minus_power(beta2, step)).sqrt() + eps)
        c.assign(p, p - change * lr)
