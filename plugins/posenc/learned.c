/* Learned absolute positions, added to the embedding. Gehring et al. 2017; Vaswani et al. 2017, Table 3 row
 * (E). */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t max_len;
} config;

static ab_t embed(ab_ctx *c, const void *cfg, ab_t x, ab_t pos)
{
    const config *o = cfg;
    int64_t d = ab_dim(c, x, -1);
    return ab_add(c, x, ab_embedding(c, ab_weight(c, "pos", -1 / sqrt((double)d), o->max_len, d), pos));
}

static const ab_param params[] = {
    {"max_len", AB_INT, offsetof(config, max_len), 1024, 1, 1 << 20, 0, "longest sequence [tokens]"}, {0}};
static const ab_position_plugin self = {.embed = embed};
AB_PLUGIN(config, params, &self, .name = "learned", .doc = "learned absolute position vectors",
          .paper = "Gehring et al. 2017", .version = "1.0");
