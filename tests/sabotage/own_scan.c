/* Nothing is wrong here: an Elman recurrence (1990) on ab_scan, in both directions in the encoder, forwards and step by
 * step in the decoder. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t step(ab_ctx *c, const void *cfg, ab_t x, ab_t h)
{
    int64_t d = ab_dim(c, h, -1);
    return ab_map(c, ab_add(c, x, ab_matmul(c, h, ab_weight(c, cfg, 0.5, d, d), 0, 0)), AB_TANH);
}

static ab_t states(ab_ctx *c, ab_t x, const char *in, const char *u, int backwards)
{
    int64_t d = ab_info(c)->d_model;
    return ab_scan(c, step, u, ab_pad(c, ab_linear(c, x, in, d, 1)), d, backwards);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg, (void)mem;
    ab_t y = states(c, x, "in", "u", 0);
    if (ab_info(c)->role == AB_SELF) y = ab_concat(c, y, states(c, x, "in_back", "u_back", 1), -1);
    return ab_linear(c, ab_pack(c, y), "out", ab_info(c)->d_model, 1);
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "own_scan", .doc = "a recurrent layer of its own");
