import ablate as ab

MAPS = ("tanh sigmoid exp elu1 square silu abs gelu softplus relu sin log sqrt recip fp32").split()


def activated(c, rows, name, width, number):
    if MAPS[number] == "fp32":
        return c.linear(c.fp32(rows), name, width, bias=False)
    y = c.linear(rows, name, width, bias=False)
    if MAPS[number] in ("log", "sqrt", "recip"):
        y = y.square() + 1
    return c.softplus(y) if MAPS[number] == "softplus" else getattr(y, MAPS[number])()


@ab.attention(doc="attention of activated queries, keys and values", accepts=ab.EMBED | ab.ROTATE,
              which=ab.integer(7, 1, 7, "bits: queries, keys, values"),
              map=ab.integer(0, 0, 14, "number of the activation"),
              form=ab.integer(0, 0, 2, "attend, scores, scores with a bias"), name="activated")
def attention(c, x, mem, which, map, form):
    i = c.info
    q = c.rotate(c.heads(activated(c, x, "q", i.heads * i.d_k, map), i.heads)) if which & 1 else c.query(x)
    k, v = c.key(mem) if not which & 2 else None, c.value(mem) if not which & 4 else None
    if k is None:
        k = c.remember(c.rotate(c.heads(activated(c, mem, "k", i.heads * i.d_k, map), i.heads)))
    if v is None:
        v = c.remember(c.heads(activated(c, mem, "v", i.heads * i.d_v, map), i.heads))
    if form == 0:
        return c.output(c.attend(q, k, v, i.d_k**-0.5))
    s = c.scores(q, k, i.d_k**-0.5)
    if form == 2:
        s = s + c.weight("bias", i.heads, 1, 1, scale=0.1)
    return c.output(c.weighted_sum(c.softmax(s), v))
