# says: `accepts` claims ab.BIAS_HOOK, but in an encoder such a position changes no output
import ablate as ab


@ab.attention(doc="test: leaves out the position's bias")
def ignores_positions(c, x, mem):
    s = c.query(x) @ c.key(mem).T * c.info.d_k**-0.5
    return c.output(c.weighted_sum(c.dropout(c.softmax(c.mask(s))), c.value(mem)))
