import ablate as ab


@ab.attention(doc="rows of both sides", roles=ab.CROSS, accepts=ab.EMBED)
def unpack_both(c, x, mem):
    return c.pack(c.pad(x + mem.sum(-2)))
