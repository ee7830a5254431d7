import ablate as ab


@ab.optimizer(doc="a measure that changes what it measures", elementwise=True)
class measure_assigns:
    def measure(c, p, g, slot, lr, step):
        c.assign(p, p - g)
        return c.full(1, 1)

    def update(c, p, g, slot, lr, step):
        c.assign(p, p - g * lr)
