/* A convolution in the place of self-attention (the paper's Table 1, "Convolutional"): each position sees the `width` positions
 * around it, in the decoder the `width` up to itself.
 *
 *     y_t = b + sum over j of W_j x_{t+j},  j = -(width - 1) / 2 .. width / 2, in the decoder -(width - 1) .. 0
 *
 * Before the first position and behind the last there are zeros (Gehring et al. 2017, section 3; Kalchbrenner et al. 2016,
 * section 3.3, for the decoder's).
 */
#include "ab_plugin.h"

typedef struct {
    int64_t width;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    (void)mem;
    if (in->role == AB_CAUSAL) return ab_conv(c, x, "w", in->d_model, o->width - 1, 0);
    return ab_conv(c, x, "w", in->d_model, (o->width - 1) / 2, o->width / 2);
}

static const ab_param params[] = {
    {"width", AB_INT, offsetof(config, width), 3, 1, 255, 0, "positions under the kernel, k in Table 1 [tokens]"}, {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "convolutional", .doc = "a convolution in the place of self-attention",
          .paper = "Gehring et al. 2017; Vaswani et al. 2017, Table 1", .version = "1.0");
