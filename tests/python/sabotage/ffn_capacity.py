import ablate as ab


@ab.feed_forward(doc="an expert with room for half of the rows")
def ffn_capacity(c, x):
    rows = x.shape[-2]
    room = (rows + 1) // 2
    best, ids = c.top_k(c.linear(x, "gate", 1, bias=False).sigmoid().T, room)
    ids = ids.reshape(room)
    y = c.linear(c.embedding(x, ids), "1", c.info.d_model)
    return c.scatter_rows(y * best.reshape(room, 1), ids, rows)
