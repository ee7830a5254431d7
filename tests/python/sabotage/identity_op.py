import ablate as ab


@ab.op(doc="by x", attributes=["by"])
def times(c, x, by):
    return x * by


@ab.attention(doc="one times the attention's output", accepts=ab.EMBED | ab.ROTATE, by=ab.real(1, 0.1, 10, "factor [none]"))
def identity_op(c, x, mem, by):
    q = c.query(x)
    y = c.attend(q, c.key(mem), c.value(mem), q.shape[-1] ** -0.5)
    return c.output(times(c, y, by=by) + y.tanh())
