# says: c.call_attention: 'scaled_dot' is not in the list `calls` of 'calls_unnamed'; expected @ab.attention(..., calls=["scaled_dot"])
import ablate as ab


@ab.attention(doc="another attention", roles=ab.CAUSAL, accepts=ab.EMBED)
def calls_unnamed(c, x, mem):
    return c.call_attention("scaled_dot", x, mem)
