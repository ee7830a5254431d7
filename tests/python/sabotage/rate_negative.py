import ablate as ab


@ab.schedule(doc="falls below zero")
def rate_negative(plan, step):
    return plan.lr * (1 - 2 * step / plan.steps)
