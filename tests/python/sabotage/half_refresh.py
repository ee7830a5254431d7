import ablate as ab


@ab.optimizer(doc="refresh without period", elementwise=True)
class half_refresh:
    def update(c, p, g, slot, lr, step):
        c.assign(p, p - g * lr)

    refresh = update
