import ablate as ab


def values(c):
    return c.weight_full("g", 1, c.info.d_model), c.weight_full("b", 0, c.info.d_model)


@ab.norm(doc="add is not what forward says")
class norm_add:
    def forward(c, x):
        return c.layer_norm(x, *values(c), 1e-6)

    def add(c, x, s):
        return c.add_layer_norm(x, s, *values(c), 1e-2)
