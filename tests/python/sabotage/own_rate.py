import ablate as ab


@ab.optimizer(doc="gradient descent at one rate", elementwise=True)
def own_rate(c, p, g, slot, lr, step):
    c.assign(p, p - g * 0.03)
