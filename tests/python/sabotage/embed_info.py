import ablate as ab


@ab.position(doc="embeddings of length one, with a gain")
class embed_info:
    def embed(c, x, pos):
        return x * c.info.d_model**-0.5 * c.weight("gain", c.info.d_model, scale=-1)
