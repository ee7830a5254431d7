import ablate as ab


@ab.attention(
    doc="rectified softmax without sink",
    accepts=ab.EMBED | ab.ROTATE | ab.BIAS_HOOK,
    claims=ab.DISCONTINUOUS,
    eps=ab.real(1e-6, 1e-12, 1, "added to the sum [none]"),
)
def softpick(c, x, mem, eps):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    s = c.minimum(c.scores(q, k, c.info.d_k**-0.5), c.full(80, 1))
    a, b = s.exp(), c.minimum(s, c.full(0, 1)).exp()
    seen = (c.to_float(c.qpos()) + 1).T if c.info.role == ab.CAUSAL else c.klen()
    size = c.weighted_sum(a - b * 2, v[..., 0:1] * 0 + 1) + seen + eps
    return c.output(c.weighted_sum(c.dropout(a - b, c.info.dropout), v) / size)
