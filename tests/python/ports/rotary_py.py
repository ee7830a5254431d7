import ablate as ab


def frequency(i, base, width):
    return base ** (-2.0 * (i % (width // 2)) / width)


@ab.position(doc="twin of rotary", relative=True, base=ab.real(10000, 2, 1e7, "base of the frequencies [tokens]"))
class rotary_py:
    def rotate(c, x, pos, base):
        width = x.shape[-1]
        if width % 2:
            c.fail("rotary: d_k must be even: pairs of columns are rotated")
        angle = c.outer(c.to_float(pos), c.table(frequency, width, base=base, width=width))
        return x * angle.cos() + c.rotate_half(x) * angle.sin()
