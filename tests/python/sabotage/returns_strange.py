# says: returns_strange.py:7: returns_strange returned a tensor of another call; tensors end with their call
import ablate as ab

kept = []


@ab.attention(doc="returns a tensor of another call", accepts=ab.EMBED)
def returns_strange(c, x, mem):
    kept.append(c.output(c.attend(c.query(x), c.key(mem), c.value(mem), 1)))
    return kept[0]
