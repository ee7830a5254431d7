import ablate as ab


def step_of(u):
    def step(c, x, h):
        d = h.shape[-1]
        return (x + h @ c.weight(u, d, d, scale=0.5)).tanh()

    return step


def states(c, x, name, u, backwards):
    d = c.info.d_model
    return c.scan(step_of(u), c.pad(c.linear(x, name, d)), d, backwards)


@ab.attention(doc="a recurrent layer of its own", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED)
def own_scan(c, x, mem):
    y = states(c, x, "in", "u", False)
    if c.info.role == ab.SELF:
        y = c.concat(y, states(c, x, "in_back", "u_back", True), -1)
    return c.linear(c.pack(y), "out", c.info.d_model)
