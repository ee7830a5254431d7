import ablate as ab


@ab.attention(doc="learned values added to one another")
def weight_sums(c, x, mem):
    i = c.info
    w = lambda name, *shape: c.weight(name, *shape, scale=0.5)  # noqa: E731
    q = c.query(x) * (w("a", i.heads, 1, i.d_k) - w("b", i.heads, 1, i.d_k) + 1)
    k = c.key(mem) + (w("d", i.d_k) + w("e", i.d_k) * 0.5)
    v = c.value(mem) + (w("f", i.d_v) + c.dropout(w("g", i.d_v)))
    return c.output(c.attend(q, k, v, 1) * (w("open", 1) - w("closed", 1)).sigmoid())
