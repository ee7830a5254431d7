import ablate as ab


@ab.norm(doc="a norm over rows")
def norm_over_rows(c, x):
    return x / (x.square().sum(-2) + 1e-6).sqrt()
