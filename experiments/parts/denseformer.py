"""DenseFormer: after each layer, a learned mean of the embeddings and the outputs of all layers so far."""

import ablate as ab


@ab.block(doc="pre_norm with a depth-weighted average after each layer",
          paper="Pagliardini et al. 2024 (DenseFormer), equation 1")
class denseformer:
    @staticmethod
    def forward(c, x):
        layer = c.info.layer
        if layer == 0:
            c.share("x0", x)
        y = c.add_dropout(x, c.self_attention(c.normalize(x, "self.ln")))
        if c.info.cross:
            y = c.add_dropout(y, c.cross_attention(c.normalize(y, "cross.ln")))
        if c.info.feed_forward:
            y = c.add_dropout(y, c.feed_forward(c.normalize(y, "ffn.ln"), "ffn"))
        c.share(f"x{layer + 1}", y)
        shares = c.weight("dwa", 1, layer + 2) + c.constant([0.0] * (layer + 1) + [1.0], 1, layer + 2)
        mean = y * shares[..., layer + 1 : layer + 2]
        for i in range(layer + 1):
            earlier = x if layer == 0 else c.shared(f"x{i}")
            mean = mean + earlier * shares[..., i : i + 1]
        return mean

    @staticmethod
    def finish(c, x):
        return c.normalize(x, "ln")
