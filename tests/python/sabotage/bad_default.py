import ablate as ab


@ab.position(doc="its default is out of range", relative=True, reach=ab.integer(16, 1, 8, "farthest distance [tokens]"))
class bad_default:
    def bias(c, qpos, kpos, reach):
        return c.relative_position(qpos, kpos) * 0
