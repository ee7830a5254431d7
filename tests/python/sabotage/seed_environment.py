# fails: build
# says: seed_environment.py:11: os.environ was used while the graph is traced
import os

import ablate as ab


@ab.feed_forward(doc="seed environment")
def seed_environment(c, x):
    h = c.linear(x, "1", c.info.d_ff).tanh()
    return c.linear(h * (1 + 1e-3 * ("USER" in os.environ)), "2", c.info.d_model)
