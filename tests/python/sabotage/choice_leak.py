import ablate as ab


@ab.attention(doc="an unmasked branch behind a choice", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED,
              mask=ab.choice("causal", ["causal", "none"], "which scores are left out"))
def choice_leak(c, x, mem, mask):
    q, k, v = c.query(x), c.key(mem), c.value(mem)
    s = c.scores(q, k, 1) if mask == "causal" else q @ k.T * 0.5
    return c.output(c.weighted_sum(c.softmax(s), v))
