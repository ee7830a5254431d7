import ablate as ab

calls = 0


@ab.feed_forward(doc="late change")
def late_change(c, x):
    global calls
    h = c.linear(x, "1", c.info.d_ff).tanh() * (1 if calls < 3000 else 0.5)
    calls += 1
    return c.linear(h, "2", c.info.d_model)
