"""Division by the root mean square: a starting point."""

import ablate as ab


@ab.norm(doc="what it does, in one line", paper="who, when, equation")
def NAME(c, x):  # rows [rows, d_model] -> the same shape, each row separately
    length = (x.square().mean(-1) + 1e-6).sqrt()
    return x / length * c.weight_full("g", 1, c.info.d_model)
