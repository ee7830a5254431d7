# says: missing 1 required keyword-only argument: 'doc'
import ablate as ab


@ab.position(relative=True)
class missing_doc:
    def bias(c, qpos, kpos):
        return c.relative_position(qpos, kpos)
