import ablate as ab


@ab.op(doc="by a b", attributes=["by"])
def gate(c, a, b, by):
    return a * by * b


@gate.grad
def gradient(c, inputs, y, dy, by):
    return [dy * by * inputs[1], dy * by * inputs[0]]


@ab.attention(doc="a gate on the attention's output", accepts=ab.EMBED | ab.ROTATE | ab.BIAS_HOOK,
              by=ab.real(1.5, 0, 10, "factor before the gate [none]"))
def honest(c, x, mem, by):
    y = c.attend(c.query(x), c.key(mem), c.value(mem), 1)
    return c.output(gate(c, y, y.tanh(), by=by))
