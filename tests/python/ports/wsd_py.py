import ablate as ab


@ab.schedule(doc="twin of wsd", decay=ab.real(0.1, 0, 1, "last part of the run [share of steps]"))
def wsd_py(plan, step, decay):
    if step < plan.warmup:
        return plan.lr * step / plan.warmup
    length = decay * plan.steps
    fallen = max(0, min(1, (step - (plan.steps - length)) / length)) if length > 0 else 0
    return plan.lr_min + (plan.lr - plan.lr_min) * (1 - fallen)
