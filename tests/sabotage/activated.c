/* Nothing is wrong here: in a bf16 run the queries, keys and values are activations of linear maps, and thus fp32,
 * in each form of fused attention. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t which, map, form;
} config;

static ab_t activated(ab_ctx *c, const config *o, ab_t rows, const char *name, int64_t width)
{
    ab_t y = ab_linear(c, rows, name, width, 0);
    switch (o->map) {
    case 0: return ab_map(c, y, AB_TANH);
    case 1: return ab_map(c, y, AB_SIGMOID);
    case 2: return ab_map(c, y, AB_EXP);
    case 3: return ab_map(c, y, AB_ELU1);
    case 4: return ab_map(c, y, AB_SQUARE);
    case 5: return ab_map(c, y, AB_SILU);
    case 6: return ab_map(c, y, AB_ABS);
    case 7: return ab_gelu(c, y);
    case 8: return ab_softplus(c, y);
    case 9: return ab_map(c, y, AB_RELU);
    case 10: return ab_map(c, y, AB_SIN);
    case 11: return ab_map(c, ab_add_scalar(c, ab_map(c, y, AB_SQUARE), 1), AB_LOG);
    case 12: return ab_map(c, ab_add_scalar(c, ab_map(c, y, AB_SQUARE), 1), AB_SQRT);
    case 13: return ab_map(c, ab_add_scalar(c, ab_map(c, y, AB_SQUARE), 1), AB_RECIP);
    default: return ab_linear(c, ab_fp32(c, rows), name, width, 0);
    }
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    int64_t H = in->heads;
    ab_t q = o->which & 1 ? ab_rotate(c, ab_heads(c, activated(c, o, x, "q", H * in->d_k), H)) : ab_query(c, x);
    ab_t k = o->which & 2 ? ab_remember(c, ab_rotate(c, ab_heads(c, activated(c, o, mem, "k", H * in->d_k), H)))
                          : ab_key(c, mem);
    ab_t v = o->which & 4 ? ab_remember(c, ab_heads(c, activated(c, o, mem, "v", H * in->d_v), H)) : ab_value(c, mem);
    if (o->form == 0) return ab_output(c, ab_attend(c, q, k, v, 1 / sqrt((double)in->d_k)));
    ab_t s = ab_scores(c, q, k, 1 / sqrt((double)in->d_k));
    if (o->form == 2) s = ab_add(c, s, ab_weight(c, "bias", 0.1, H, 1, 1));
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), v));
}

static const ab_option params[] = {
    {"which", AB_INT, offsetof(config, which), 7, 1, 7, 0, "bits: queries, keys, values"},
    {"map", AB_INT, offsetof(config, map), 0, 0, 14, 0, "number of the activation"},
    {"form", AB_INT, offsetof(config, form), 0, 0, 2, 0, "attend, scores, scores with a bias"},
    {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "activated", .doc = "attention of activated queries, keys and values");
