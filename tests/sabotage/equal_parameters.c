/* Two parameters have one name. */
#include "ab_plugin.h"

typedef struct {
    int64_t wide, deep;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    return ab_layer_norm(c, x, ab_weight_full(c, "g", 1, ab_info(c)->d_model),
                         ab_weight(c, "b", 0, ab_info(c)->d_model), 1e-5);
}

static const ab_option params[] = {{"wide", AB_INT, offsetof(config, wide), 1, 0, 9, 0, "width [numbers]"},
                                   {"wide", AB_INT, offsetof(config, deep), 1, 0, 9, 0, "depth [numbers]"},
                                   {0}};
static const ab_norm_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "equal_parameters", .doc = "two parameters of one name");
