/* A convolution in the place of self-attention (the paper's Table 1, "Convolutional"): each position sees the `width` positions
 * around it, in the decoder the `width` up to itself.
 *
 *     y_t = b + sum over j of W_j x_{t+j},  j = -(width - 1) / 2 .. width / 2, in the decoder -(width - 1) .. 0
 *
 * With glu the convolution is twice as wide, and one half gates the other.
 * Before the first position and behind the last there are zeros (Gehring et al. 2017, section 3; Kalchbrenner et al. 2016,
 * section 3.3, for the decoder's).
 */
#include "ab_plugin.h"

typedef struct {
    int64_t width, glu;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    (void)mem;
    int64_t d = in->d_model, behind = in->role == AB_CAUSAL ? 0 : o->width / 2;
    ab_t y = ab_conv(c, x, "w", o->glu ? 2 * d : d, o->width - 1 - behind, behind);
    return o->glu ? ab_mul(c, ab_slice(c, y, -1, 0, d), ab_map(c, ab_slice(c, y, -1, d, d), AB_SIGMOID)) : y;
}

static const ab_param params[] = {
    {"width", AB_INT, offsetof(config, width), 3, 1, 255, 0, "positions under the kernel, k in Table 1 [tokens]"},
    {"glu", AB_BOOL, offsetof(config, glu), 0, 0, 0, 0, "a gated linear unit on twice the width: a sigmoid(b) (Gehring et al. 2017, section 3.2)"},
    {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "convolutional", .doc = "a convolution in the place of self-attention",
          .paper = "Gehring et al. 2017; Vaswani et al. 2017, Table 1", .version = "1.0");
