# says: SyntaxError: keyword argument repeated: wide
import ablate as ab


@ab.norm(doc="two parameters of one name", wide=ab.integer(1, 0, 9, "width [numbers]"), wide=ab.integer(1, 0, 9, "depth"))
def equal_parameters(c, x, wide):
    return x
