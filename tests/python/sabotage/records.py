import ablate as ab


def mean(c, x, mask):
    """Over rows with a token, and over columns."""
    return (x * mask).sum(-1).sum(-2) / mask.sum(-2) * (1 / x.shape[-1])


def number(i, layer):
    return 2 + layer + (1 + layer) * i


@ab.feed_forward(doc="a feed-forward that records, shares and is noisy")
def records(c, x):
    i, mask = c.info, c.row_mask()
    h = c.linear(x, "1", i.d_ff).tanh()
    h = h * (c.normal(x.shape[-2], i.d_ff) * 0.1 + 1) + c.embedding(c.weight("token", 16, i.d_ff, scale=-0.1), c.tokens())
    if i.layer:
        h = h + c.shared("hidden")
    c.share("hidden", h)
    c.add_loss("size", mean(c, h.square(), mask), 0.7)
    c.log("hidden", mean(c, h, mask))
    c.log("several", c.table(number, 2 if i.layer else 3, layer=i.layer))  # 2, 3, 4, then 3, 5
    return c.linear(h, "2", i.d_model)
