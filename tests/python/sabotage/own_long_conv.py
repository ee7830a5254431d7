import ablate as ab


@ab.attention(doc="a long convolution of its own", accepts=ab.EMBED)
def own_long_conv(c, x, mem):
    i = c.info
    past = c.weight("past", 3, i.d_model, scale=0.5)
    future = None if i.role == ab.CAUSAL else c.weight("future", 2, i.d_model, scale=0.5)
    if i.role == ab.CAUSAL:
        past = c.concat(past, c.full(0.01, c.kpos().shape[-1], i.d_model), -2)
    seen = c.long_conv(mem + 0.3, past, future)
    if i.role != ab.CROSS:
        return c.linear(seen, "out", i.d_model)
    values = c.heads(c.linear(seen, "v", i.heads * i.d_v, bias=False), i.heads)
    return c.output(c.attend(c.query(x), c.key(mem), values, 0.3))
