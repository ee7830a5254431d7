import ablate as ab


@ab.feed_forward(doc="twin of swiglu", same_size=ab.boolean(True, "inner width 2/3 of d_ff"))
def swiglu_py(c, x, same_size):
    width = (2 * c.info.d_ff + 2) // 3 if same_size else c.info.d_ff
    gate = c.silu(c.linear(x, "gate", width, bias=False))
    h = gate * c.linear(x, "1", width, bias=False)
    return c.linear(c.dropout(h), "2", c.info.d_model, bias=False)
