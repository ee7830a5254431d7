# says: is a tensor of another call; tensors end with their call
import ablate as ab

kept = []


@ab.attention(doc="keys of another graph", roles=ab.SELF | ab.CAUSAL | ab.CROSS, accepts=ab.EMBED)
def static_tensor(c, x, mem):
    kept.append(c.key(mem))
    return c.output(c.attend(c.query(x), kept[0], c.value(mem), c.info.d_k**-0.5))
