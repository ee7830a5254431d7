"""x + sublayer(norm(x)) for each sublayer: a starting point."""

import ablate as ab


@ab.block(doc="what it does, in one line", paper="who, when, equation")
class NAME:
    @staticmethod
    def forward(c, x):  # rows [rows, d_model] -> the same shape
        x = c.add_dropout(x, c.self_attention(c.normalize(x, "self.ln")))
        if c.info.cross:
            x = c.add_dropout(x, c.cross_attention(c.normalize(x, "cross.ln")))
        if c.info.feed_forward:
            x = c.add_dropout(x, c.feed_forward(c.normalize(x, "ffn.ln"), "ffn"))
        return x

    @staticmethod
    def finish(c, x):  # after the last layer
        return c.normalize(x, "ln")
