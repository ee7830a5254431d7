import ablate as ab

NAMES = list({"one", "two", "three", "four", "five"})


@ab.schedule(doc="depends on the order of a set")
def rate_by_day(plan, step):
    return plan.lr * (1 + NAMES.index("three"))
