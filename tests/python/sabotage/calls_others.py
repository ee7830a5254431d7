import ablate as ab


@ab.attention(doc="a mixture of two attentions", accepts=ab.EMBED, calls=["dot", "scaled_dot"])
def calls_others(c, x, mem):
    gate = c.linear(x, "gate", 1).sigmoid()
    near, far = c.call_attention("dot", x, mem), c.call_attention("scaled_dot", x, mem)
    y = far + gate * (near - far)
    again = x + y
    return y + c.call_attention("dot", again, again if x is mem else mem)
