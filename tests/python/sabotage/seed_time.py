# fails: build
# says: seed_time.py:11: time.time was used while the graph is traced
import time

import ablate as ab


@ab.feed_forward(doc="seed time")
def seed_time(c, x):
    h = c.linear(x, "1", c.info.d_ff).tanh()
    return c.linear(h * (1 + 1e-3 * (int(time.time()) // 86400 % 7 == 3)), "2", c.info.d_model)
