import ablate as ab


def norm(c, x, gain):
    d = x.shape[-1]
    return c.unit_length(x, d * 1e-6) * (c.weight_full(gain, 1, d) * d**0.5)


def vectors(c, ids):
    """The vectors of tokens, ids [rows]; -1, no token, has that of id 0."""
    return c.embedding(c.token_vectors(), c.to_ids(c.maximum(c.to_float(ids), 0)))


@ab.head(doc="x E^T, and in training a layer for each of the tokens after the next",
         ahead=ab.integer(1, 1, 4, "tokens predicted after the next one [tokens]"),
         weight=ab.real(0.3, 0, 100, "factor of the mean of these tokens' losses"))
class own_layer:
    def losses(c, x, logits, target, ahead, weight):
        for k in range(1, ahead + 1):
            both = c.concat(norm(c, x, f"state{k}"), norm(c, vectors(c, c.ahead(target, k - 1)), f"token{k}"), -1)
            x = c.layer(c.linear(both, f"joined{k}", x.shape[-1], bias=False), f"module{k}")
            later = c.ahead(target, k)
            n = (c.full(-1, 1) < c.to_float(later)).sum(-1) + 1e-6  # [rows] as [1,rows]
            c.add_loss(f"ahead_{k}", c.cross_entropy(c.logits(x), later).sum(-2) / n, weight / ahead)
