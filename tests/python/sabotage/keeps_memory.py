# says: bytes each: the file's lists and dicts keep what calls add (c.constant and c.table copy)
import ablate as ab

kept = []


@ab.feed_forward(doc="keeps memory")
def keeps_memory(c, x):
    kept.append(bytes(1000))
    return c.linear(c.linear(x, "1", c.info.d_ff).tanh(), "2", c.info.d_model)
