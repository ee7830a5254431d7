import ablate as ab


@ab.attention(doc="a state that is corrected, of its own", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED | ab.ROTATE)
def own_delta_scan(c, x, mem):
    heads = c.info.heads
    q, k, v = c.query(x), (c.key_step(mem) + 0.5).tanh() * 0.5, c.value_step(mem) + 0.3
    beta = c.heads(c.linear(x, "beta", heads), heads).sigmoid()
    decay = -c.softplus(c.heads(c.linear(x, "decay", 1), 1))
    return c.output(c.delta_scan(q, k, v, beta, decay))
