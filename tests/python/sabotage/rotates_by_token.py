import ablate as ab


def power(i):
    return i + 1


@ab.position(doc="a rotation by the tokens")
class rotates_by_token:
    def rotate_by(c, qk, pos, x):
        heads, half = c.info.heads, qk.shape[-1] // 2
        slower = c.softplus(c.linear(x, "speed", heads)) + 1
        speed = (c.heads(-slower.log(), heads) * c.table(power, half)).exp()
        a = c.running_sum(speed)
        angle = c.concat(a, a, -1)
        return qk * angle.cos() + c.rotate_half(qk) * angle.sin()
