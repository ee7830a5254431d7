import ablate as ab


@ab.block(doc="reads no encoder")
def block_skips(c, x):
    x = c.add_normalize(x, c.self_attention(x), "self.ln")
    return c.add_normalize(x, c.feed_forward(x, "ffn"), "ffn.ln") if c.info.feed_forward else x
