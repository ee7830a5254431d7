import ablate as ab


@ab.feed_forward(doc="logs many numbers")
def log_rows(c, x):
    c.log("rows", x)
    return c.linear(x, "1", c.info.d_model)
