import ablate as ab


@ab.schedule(doc="a warmup to a constant")
def own_peak(plan, step):
    return 1e-3 * min(1, step / plan.warmup) if plan.warmup else 1e-3
