import ablate as ab


@ab.optimizer(doc="slots of another size than announced", slots=["m"])
class slot_size:
    def slot_shape(of, i):
        return (*of.shape[:3], 1)

    def update(c, p, g, slot, lr, step):
        m = slot[0] * 0.9 + g
        c.assign(slot[0], m)
        c.assign(p, p - m * lr)
