/* Two AB_INT parameters in fields of 4 bytes, so that writing one (8 bytes) overwrites the other. */
#include "ab_plugin.h"

typedef struct {
    int32_t wide, deep;
    int64_t more;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    return ab_layer_norm(c, x, ab_weight_full(c, "g", 1, ab_info(c)->d_model),
                         ab_weight(c, "b", 0, ab_info(c)->d_model), 1e-5);
}

static const ab_option params[] = {{"wide", AB_INT, offsetof(config, wide), 1, 0, 9, 0, "width [numbers]"},
                                   {"deep", AB_INT, offsetof(config, deep), 1, 0, 9, 0, "depth [numbers]"},
                                   {0}};
static const ab_norm_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "overlapping", .doc = "fields narrower than parameters");
