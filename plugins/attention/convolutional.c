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

/* The state is the last `n` positions side by side, the newest behind. */
static ab_t push(ab_ctx *c, const void *cfg, ab_t x, ab_t h)
{
    int64_t kept = ab_dim(c, h, -1) - ab_dim(c, x, -1);
    (void)cfg;
    return kept ? ab_join(c, ab_slice(c, h, -1, ab_dim(c, x, -1), kept), x, -1) : x;
}

/* Position t and the n - 1 before it, or behind it where the window runs backwards: [1,B,T,d] -> [1,B,T,n d]. */
static ab_t window(ab_ctx *c, ab_t x, int64_t n, int backwards)
{
    return ab_scan(c, push, NULL, x, n * ab_dim(c, x, -1), backwards);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    (void)mem;
    ab_t padded = ab_unpack(c, x), seen;
    if (in->role == AB_CAUSAL) {
        seen = window(c, padded, o->width, 0);
    } else {
        int64_t before = (o->width - 1) / 2, behind = o->width / 2;
        seen = window(c, padded, before + 1, 0);
        if (behind) {
            ab_t after = window(c, padded, behind + 1, 1); /* its newest is position t, which `seen` has already */
            seen = ab_join(c, seen, ab_slice(c, after, -1, 0, behind * in->d_model), -1);
        }
    }
    return ab_linear(c, ab_pack(c, seen), "w", in->d_model, 1);
}

static const ab_param params[] = {
    {"width", AB_INT, offsetof(config, width), 3, 1, 255, 0, "positions under the kernel, k in Table 1 [tokens]"}, {0}};
static const ab_attention self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "convolutional", .doc = "a convolution in the place of self-attention",
          .paper = "Gehring et al. 2017; Vaswani et al. 2017, Table 1", .version = "1.0");
