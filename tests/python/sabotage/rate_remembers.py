import ablate as ab

kept = 1.0


@ab.schedule(doc="counts its own calls")
def rate_remembers(plan, step):
    global kept
    kept *= 0.999
    return plan.lr * kept
