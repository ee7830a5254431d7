# says: slice: axis 5, expected -4 to 3, or -1 for the last
import ablate as ab


@ab.attention(doc="names an axis that no tensor has", accepts=ab.EMBED)
def wrong_axis(c, x, mem):
    s = c.slice(c.scores(c.query(x), c.key(mem), c.info.d_k**-0.5), 5, 0, 1)
    return c.output(c.weighted_sum(c.softmax(s), c.value(mem)))
