import ablate as ab


@ab.optimizer(doc="momentum", elementwise=True, slots=["m", "m"])
def equal_slots(c, p, g, slot, lr, step):
    m = g + slot[0] * 0.9
    c.assign(slot[0], m)
    c.assign(slot[1], g.abs())
    c.assign(p, p - m * lr)
