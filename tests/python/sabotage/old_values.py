import ablate as ab


@ab.optimizer(doc="gradient descent that remembers two steps", elementwise=True, slots=["last", "before"])
def old_values(c, p, g, slot, lr, step):
    c.assign(p, p - g * lr)
    c.assign(slot[0], p)
    c.assign(slot[1], slot[0])
