import ablate as ab


@ab.attention(doc="a convolution with eight positions", roles=ab.SELF | ab.CAUSAL, accepts=ab.EMBED)
def short_filter(c, x, mem):
    return c.long_conv(x, c.weight("past", 8, c.info.d_model, scale=0.5))
