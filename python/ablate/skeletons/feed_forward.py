"""Two linear maps with a ReLU between them: a starting point."""

import ablate as ab


@ab.feed_forward(doc="what it does, in one line", paper="who, when, equation")
def NAME(c, x):  # rows [rows, d_model] -> the same shape, each row separately
    h = c.linear_relu(x, "1", c.info.d_ff)
    return c.linear(c.dropout(h), "2", c.info.d_model)
