import ablate as ab

calls = 0


@ab.optimizer(doc="late change of an update", elementwise=True)
def late_rule(c, p, g, slot, lr, step):
    global calls
    c.assign(p, p - g * (1 if calls < 3000 else 0.5) * lr)
    calls += 1
