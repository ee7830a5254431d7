import ablate as ab


@ab.head(doc="all but the last logit")
def head_width(c, x):
    every = c.logits(x)
    return every[..., : every.shape[-1] - 1]
