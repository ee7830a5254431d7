# fails: op_gradients
import ablate as ab


@ab.op(doc="x (x + heads)")
def by_heads(c, x):
    return x * (x + c.info.heads)


@by_heads.grad
def gradient(c, inputs, y, dy):
    return [dy * (inputs[0] * 2 + 1)]


@ab.attention(doc="outputs times themselves", accepts=ab.EMBED | ab.ROTATE)
def info_in_reference(c, x, mem):
    return c.output(by_heads(c, c.attend(c.query(x), c.key(mem), c.value(mem), 1)))
