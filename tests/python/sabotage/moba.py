import ablate as ab

BLOCK, CHOSEN = 4, 2


def in_block(i, j):
    return i // BLOCK == j


def number(i):
    return i


@ab.attention(doc="attention to the best blocks", roles=ab.CAUSAL, accepts=ab.EMBED, claims=ab.DISCONTINUOUS)
def moba(c, x, mem):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    keys, queries = k.shape[2], q.shape[2]
    blocks = (keys + BLOCK - 1) // BLOCK
    block_of, block = c.table(in_block, keys, blocks), c.table(number, blocks)
    own = c.to_float(c.to_ids(c.to_float(c.qpos()).reshape(queries, 1) * (1 / BLOCK) - 0.375))
    earlier, later = block < own, own < block
    liking = c.where(earlier, q @ (block_of.T @ k * (1 / BLOCK)).T, -1e9)
    most = min(blocks, CHOSEN)
    liked = 1 - (liking < c.top_k(liking, most)[0][..., most - 1 :])
    seen = c.maximum(liked * earlier, 1 - (earlier + later)) @ block_of.T
    s = c.mask(c.where(c.full(0, 1) < seen.detach(), q @ k.T * 0.5, -1e9))
    return c.output(c.weighted_sum(c.softmax(s), v))
