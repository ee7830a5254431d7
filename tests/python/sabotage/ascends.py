import ablate as ab


@ab.optimizer(doc="the sign is wrong", elementwise=True)
def ascends(c, p, g, slot, lr, step):
    c.assign(p, p + g * lr)
