# fails: op_gradients
import ablate as ab


@ab.op(doc="softmax(mask(s))")
def masked_softmax(c, s):
    return c.softmax(c.mask(s))


@masked_softmax.grad
def gradient(c, inputs, y, dy):
    return [dy]


@ab.attention(doc="a softmax of its own", accepts=ab.EMBED | ab.ROTATE)
def mask_in_reference(c, x, mem):
    return c.output(c.weighted_sum(masked_softmax(c, c.query(x) @ c.key(mem).T), c.value(mem)))
