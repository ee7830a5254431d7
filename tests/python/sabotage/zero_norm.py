import ablate as ab


@ab.optimizer(doc="gradient of length 1")
def zero_norm(c, p, g, slot, lr, step):
    total = g.square()
    for axis in (-1, -2, -3, -4):
        total = total.sum(axis)
    c.assign(p, p - g / total.sqrt() * lr)
