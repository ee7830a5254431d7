# fails: build
# says: seed_file.py:10: os.access was used while the graph is traced
import os

import ablate as ab


@ab.attention(doc="test: depends on a file", accepts=ab.EMBED)
def seed_file(c, x, mem):
    scale = 2 if os.access("/etc/passwd", os.F_OK) else 1
    return c.output(c.attend(c.query(x), c.key(mem), c.value(mem), scale * c.info.d_k**-0.5))
