import ablate as ab


@ab.block(doc="calls what is not there")
def block_cross(c, x):
    return c.add_normalize(x, c.cross_attention(x), "cross.ln")
