"""Scaled dot-product attention: a starting point. help(ab.Context) lists what can be called, with shapes."""

import ablate as ab


@ab.attention(doc="what it does, in one line", paper="who, when, equation")
def NAME(c, x, mem):  # x: rows of the query side; mem: of the key side, equal to x in self-attention
    q, k, v = c.query(x), c.key(mem), c.value(mem)  # [B,H,T,d]
    s = c.scores(q, k, c.info.d_k**-0.5)  # [B,H,Tq,Tk], masked
    return c.output(c.weighted_sum(c.dropout(c.softmax(s)), v))  # rows [rows, d_model]
