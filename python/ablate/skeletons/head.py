"""Logits with a bias for each token: a starting point."""

import ablate as ab


@ab.head(doc="what it does, in one line", paper="who, when, equation")
def NAME(c, x):  # rows [rows, d_model] -> logits [rows, vocabulary], each row separately
    return c.logits(x) + c.weight("b", c.info.vocabulary)
