# says: missing 1 required positional argument: 'doc'
import ablate as ab


@ab.norm(doc="its parameter has no doc", reach=ab.integer(4, 1, 8))
def missing_parameter_doc(c, x, reach):
    return x
