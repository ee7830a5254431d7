import ablate as ab

calls = 0


@ab.optimizer(doc="keeps something from one parameter to the next")
def counts_parameters(c, p, g, slot, lr, step):
    global calls
    c.assign(p, p - g * (1 + calls % 7) * lr)
    calls += 1
