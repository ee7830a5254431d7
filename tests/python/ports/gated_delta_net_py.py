import math

import ablate as ab
from decays import between


def first_rate(_, i, heads):
    return between(i, heads, 0, math.log(16))


def first_bias(_, i, heads):
    return math.log(math.expm1(math.exp(between(i, heads, math.log(1e-3), math.log(1e-1)))))


def projected(c, x, name, d, width):
    y = c.linear(x, name, c.info.heads * d, bias=False)
    behind = 0 if c.info.role == ab.CAUSAL else (width - 1) // 2
    if width > 1:
        y = c.depthwise_conv(y, name + ".conv", width - 1 - behind, behind)
    return c.heads(c.silu(y), c.info.heads)


@ab.attention(doc="twin of gated_delta_net", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED,
              conv=ab.integer(4, 1, 16, "width of the convolution [tokens]"))
def gated_delta_net_py(c, x, mem, conv):
    i = c.info
    q, k, v = (projected(c, x, name, d, conv) for name, d in (("q", i.d_k), ("k", i.d_k), ("v", i.d_v)))
    beta = c.linear(x, "beta", i.heads, bias=False).sigmoid()
    q, k, beta = c.unit_length(q, 1e-6), c.unit_length(k, 1e-6), c.heads(beta, i.heads)
    bias = c.weight("dt_bias", 1, i.heads) + c.table(first_bias, 1, i.heads, heads=i.heads)
    time = c.softplus(c.linear(x, "dt", i.heads, bias=False) + bias)
    rate = c.weight("A", 1, i.heads) + c.table(first_rate, 1, i.heads, heads=i.heads)
    decay = c.heads(-(rate.exp() * time), i.heads)
    y = c.delta_scan(q, k, v, beta, decay)
    d = y.shape[-1]
    y = c.unit_length(y, 1e-5 * d) * (c.weight_full("gain", 1, d) * math.sqrt(d))
    gate = c.silu(c.linear(x, "gate", i.heads * i.d_v, bias=False))
    return c.linear(c.merge(y) * gate, "out", i.d_model, bias=False)
