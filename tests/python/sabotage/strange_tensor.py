# says: add: argument 2 is a tensor of another call; tensors end with their call
import ablate as ab

kept = []


@ab.attention(doc="adds a tensor of another call", accepts=ab.EMBED)
def strange_tensor(c, x, mem):
    kept.append(c.attend(c.query(x), c.key(mem), c.value(mem), 1))
    return c.output(kept[-1] + kept[0])
