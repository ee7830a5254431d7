# says: it claims relative=True, but shifting every position by 7
import ablate as ab


@ab.position(doc="claims to be relative, and makes NaN when it is moved", relative=True)
class claim_of_nan:
    def bias(c, qpos, kpos):
        first = (c.to_float(kpos) * -1).max(-1)  # minus the first position
        trap = (first + 6.5).sqrt() * 0
        return c.relative_position(qpos, kpos).abs() * -0.1 + trap
