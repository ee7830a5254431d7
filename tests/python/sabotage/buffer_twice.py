import ablate as ab


@ab.feed_forward(doc="sets a buffer twice")
def buffer_twice(c, x):
    count = c.buffer("count", 0, 1)
    for _ in range(2):
        c.set_buffer(count, count + 1)
    return c.linear(x, "1", c.info.d_model)
