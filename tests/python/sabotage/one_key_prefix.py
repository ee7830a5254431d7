import ablate as ab


@ab.attention(doc="linear attention with one head of keys", accepts=ab.EMBED | ab.ROTATE)
def one_key_prefix(c, x, mem):
    k = c.key_step(mem)[:, 0:1].elu1()  # [B,1,T,d_k]
    return c.output(c.causal_kv_sum(c.query(x).elu1(), k, c.value_step(mem)))
