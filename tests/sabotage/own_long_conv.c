/* Nothing is wrong here: ab_long_conv of rows that are not 0 at padding, with learned filters shorter than many
 * sentences (in a decoder nowhere 0 within the longest past), and in cross-attention over mem. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    const ab_info *in = ab_info(c);
    int decoder = in->role == AB_CAUSAL;
    int64_t d = in->d_model;
    ab_t none = {0}, past = ab_weight(c, "past", 0.5, 3, d),
         future = decoder ? none : ab_weight(c, "future", 0.5, 2, d);
    if (decoder) past = ab_concat(c, past, ab_full(c, 0.01, ab_dim(c, ab_kpos(c), -1), d), -2);
    ab_t seen = ab_long_conv(c, ab_add_scalar(c, mem, 0.3), past, future);
    if (in->role != AB_CROSS) return ab_linear(c, seen, "out", d, 1);
    ab_t values = ab_heads(c, ab_linear(c, seen, "v", in->heads * in->d_v, 0), in->heads);
    return ab_output(c, ab_attend(c, ab_query(c, x), ab_key(c, mem), values, 0.3));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "own_long_conv", .doc = "a long convolution of its own");
