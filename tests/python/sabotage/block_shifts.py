import ablate as ab


@ab.block(doc="sublayers and earlier rows", claims=ab.MIXES_TOKENS)
def block_shifts(c, x):
    x = c.add_dropout(x, c.self_attention(c.normalize(x, "self.ln")))
    x = x + c.shift(x, 2)
    if c.info.cross:
        x = c.add_dropout(x, c.cross_attention(c.normalize(x, "cross.ln")))
    x = x + c.depthwise_conv(x, "conv", 2, 0)
    if c.info.feed_forward:
        x = c.add_dropout(x, c.feed_forward(c.normalize(x, "ffn.ln"), "ffn"))
    return x
