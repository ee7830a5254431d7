/* A plugin whose parameter table does not end with {0}. */
#include "ab_plugin.h"

typedef struct {
    int64_t wide;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    return ab_layer_norm(c, x, ab_weight_full(c, "g", 1, ab_info(c)->d_model),
                         ab_weight(c, "b", 0, ab_info(c)->d_model), 1e-5);
}

static const struct {
    ab_option params[1];
    uint64_t behind[12];
} table = {{{"wide", AB_INT, offsetof(config, wide), 1, 0, 9, 0, "width [numbers]"}},
           {0x1001001, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
static const ab_norm_plugin self = {.forward = forward};
AB_PLUGIN(config, table.params, &self, .name = "endless_table", .doc = "a table without an end");
