# says: it claims relative=True, but shifting every position by 7
import math

import ablate as ab


def value(i, j):
    return math.sin(i * 100 ** (-j / 8))


@ab.position(doc="absolute, but claims to be relative", relative=True,
             max_len=ab.integer(64, 32, 4096, "longest sequence [tokens]"))
class wrong_claim:
    def embed(c, x, pos, max_len):
        return x + c.embedding(c.table(value, max_len, x.shape[-1]), pos)
