import ablate as ab


@ab.attention(doc="refuses the end of its own range", accepts=ab.EMBED,
              width=ab.integer(2, 1, 1000, "columns that are used [columns]"))
def wide_range(c, x, mem, width):
    v = c.value(mem)
    if width > v.shape[-1]:
        c.fail("wide_range: width is larger than a head")
    return c.output(c.attend(c.query(x), c.key(mem), v, 1))
