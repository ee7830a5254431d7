/* A mixture of experts that drops rows in evaluation as well: an expert takes only the half of the rows with the
 * highest gates. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    int64_t rows = ab_dim(c, x, -2), room = (rows + 1) / 2;
    ab_t gate = ab_map(c, ab_linear(c, x, "gate", 1, 0), AB_SIGMOID), ids;
    ab_t best = ab_top_k(c, ab_transpose(c, gate, -1, -2), room, &ids);
    ids = ab_reshape(c, ids, room);
    ab_t y = ab_linear(c, ab_embedding(c, x, ids), "1", ab_info(c)->d_model, 1);
    return ab_scatter_rows(c, ab_mul(c, y, ab_reshape(c, best, room, 1)), ids, rows);
}

static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "ffn_capacity", .doc = "an expert with room for half of the rows");
