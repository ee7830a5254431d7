# says: returns_nothing returned None, expected a tensor; is a `return` missing?
import ablate as ab


@ab.attention(doc="returns no tensor", accepts=ab.EMBED)
def returns_nothing(c, x, mem):
    c.output(c.attend(c.query(x), c.key(mem), c.value(mem), 1))
