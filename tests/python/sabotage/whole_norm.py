# says: but elementwise=True promises that it does not
import ablate as ab


@ab.optimizer(doc="not elementwise", elementwise=True)
def whole_norm(c, p, g, slot, lr, step):
    c.assign(p, p - g / g.square().sum(-1).sqrt() * lr)
