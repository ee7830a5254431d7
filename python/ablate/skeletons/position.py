"""A learned score bias by the distance between key and query: a starting point."""

import ablate as ab


@ab.position(doc="what it does, in one line", paper="who, when, equation", relative=True)
class NAME:
    @staticmethod
    def bias(c, qpos, kpos):  # ids [Tq], [Tk] -> [1, H or 1, Tq, Tk], added to the scores
        distance = abs(c.relative_position(qpos, kpos))  # [Tq,Tk]
        return distance * c.weight("slope", c.info.heads, 1, 1, scale=-0.1)
