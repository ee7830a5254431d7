import ablate as ab


@ab.block(doc="twin of pre_norm")
class pre_norm_py:
    @staticmethod
    def forward(c, x):
        x = c.add_dropout(x, c.self_attention(c.normalize(x, "self.ln")))
        if c.info.cross:
            x = c.add_dropout(x, c.cross_attention(c.normalize(x, "cross.ln")))
        if c.info.feed_forward:
            x = c.add_dropout(x, c.feed_forward(c.normalize(x, "ffn.ln"), "ffn"))
        return x

    @staticmethod
    def finish(c, x):
        return c.normalize(x, "ln")
