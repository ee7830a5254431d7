/* Restricted self-attention: a query sees only keys at a distance of at most r. Vaswani et al. 2017, section 4.
 *
 * In cross-attention the window is centred on the key at the query's position, or on the last key if the source is
 * shorter.
 */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t r;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t centre = ab_reshape(c, ab_to_float(c, ab_qpos(c)), ab_dim(c, q, -2), 1);
    if (in->role == AB_CROSS) centre = ab_minimum(c, centre, ab_add_scalar(c, ab_klen(c), -1));
    ab_t from = ab_add_scalar(c, centre, -(double)o->r), to = ab_add_scalar(c, centre, (double)o->r + 1);
    ab_t s = ab_mul_scalar(c, ab_matmul(c, q, k, 0, 1), 1 / sqrt((double)in->d_k));
    s = ab_mask(c, ab_window(c, ab_position(c, s, q, k), from, to));
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, ab_softmax(c, s), in->dropout), v));
}

static const ab_option params[] = {
    {"r", AB_INT, offsetof(config, r), 8, 0, 100000, 0, "distance of the farthest key that a query sees [tokens]"},
    {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "restricted",
          .doc = "scaled dot-product attention within a window of r keys to each side",
          .paper = "Vaswani et al. 2017, section 4", .version = "1.0");
