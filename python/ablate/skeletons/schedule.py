"""Linear warmup, then a constant rate: a starting point."""

import ablate as ab


@ab.schedule(doc="what it does, in one line", paper="who, when, equation")
def NAME(plan, step):  # plan: lr, lr_min, warmup, steps, d_model; step: 1, 2, ... plan.steps
    return plan.lr * step / plan.warmup if step < plan.warmup else plan.lr
