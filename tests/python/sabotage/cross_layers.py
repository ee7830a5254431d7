import ablate as ab


@ab.attention(doc="layers along the source", roles=ab.CROSS, accepts=ab.EMBED)
def cross_layers(c, x, mem):
    d = c.info.d_model
    there, back = c.gru(mem, "in", "u", d // 3), c.gru(mem, "in_back", "u_back", d // 3, backwards=True)
    seen = c.conv(c.concat(there, back, -1), "w", d, 2, 1)
    total = c.pad(seen.tanh()).sum(-2)  # [1,B,1,d], 0 from padding
    return c.pack(c.pad(c.linear(x, "x", d)) * total)
