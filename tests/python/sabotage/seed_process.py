# says: seed_process: a second process, on another day
import ablate as ab


@ab.feed_forward(doc="seed process")
def seed_process(c, x):
    h = c.linear(x, "1", c.info.d_ff).tanh()
    return c.linear(h * (1 + hash("seed") % 2**30 / 2**30), "2", c.info.d_model)
