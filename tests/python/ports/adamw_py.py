import math

import ablate as ab


def one_minus_power(beta, step):
    return -(step * math.log(beta)).exp() + 1


@ab.optimizer(doc="twin of adamw", slots=("m", "v"), elementwise=True,
              beta1=ab.real(0.9, 1e-6, 0.999999, "decay of the mean gradient [none]"),
              beta2=ab.real(0.999, 1e-6, 0.9999999, "decay of the mean squared gradient [none]"),
              eps=ab.real(1e-8, 0, 1, "added to the root [none]"),
              decay=ab.real(0.01, 0, 1, "weight decay, multiplied by the learning rate [none]"))
def adamw_py(c, p, g, slot, lr, step, beta1, beta2, eps, decay):
    m = slot[0] * beta1 + g * (1 - beta1)
    v = slot[1] * beta2 + g.square() * (1 - beta2)
    c.assign(slot[0], m)
    c.assign(slot[1], v)
    change = m / one_minus_power(beta1, step) / ((v / one_minus_power(beta2, step)).sqrt() + eps)
    c.assign(p, p - (change + p * decay) * lr)
