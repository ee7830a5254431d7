import ablate as ab


@ab.norm(doc="a norm is no block")
def norm_attends(c, x):
    return c.self_attention(x)
