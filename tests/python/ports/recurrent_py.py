import ablate as ab


@ab.attention(doc="twin of recurrent", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED,
              width=ab.integer(-1, 2, 16384, "size of the state [units]", words=["auto"]))
def recurrent_py(c, x, mem, width):
    d = width if width > 0 else c.info.d_model
    if c.info.role == ab.CAUSAL:
        return c.linear(c.gru(x, "in", "u", d), "out", c.info.d_model)
    there, back = c.gru(x, "in", "u", d // 2), c.gru(x, "in_back", "u_back", d // 2, backwards=True)
    return c.linear(c.concat(there, back, -1), "out", c.info.d_model)
