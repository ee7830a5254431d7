/* Each target position reads the source row at its own position, and nothing behind the source's end, as ByteNet's
 * decoder reads the encoder's output (dynamic unfolding). */
#include "ab_plugin.h"

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg, (void)x;
    const ab_info *in = ab_info(c);
    ab_t v = ab_heads(c, ab_linear(c, mem, "v", in->heads * in->d_v, 1), in->heads);
    ab_t apart = ab_map(c, ab_relative_position(c, ab_qpos(c), ab_kpos(c)), AB_ABS);        /* [Tq,Tk] */
    ab_t kindex = ab_to_float(c, ab_kpos(c)), inside = ab_less_than(c, kindex, ab_klen(c)); /* [B,1,1,Tk] */
    ab_t here = ab_mul(c, ab_less_than(c, apart, ab_full(c, 0.5, 1)), inside);              /* [B,1,Tq,Tk] */
    return ab_output(c, ab_matmul(c, here, v, 0, 0));
}

static const ab_attention_plugin self = {.roles = AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(char, NULL, &self, .name = "aligned", .doc = "cross-attention to the source row at the same position",
          .paper = "Kalchbrenner et al. 2016 (ByteNet), section 3.1");
