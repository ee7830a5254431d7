/* Learned absolute positions, added to the embedding. Gehring et al. 2017; Vaswani et al. 2017, Table 3 row (E). */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t max_len;
    double std;
} config;

static ab_t embed(ab_ctx *c, const void *cfg, ab_t x, ab_t pos)
{
    const config *o = cfg;
    int64_t d = ab_dim(c, x, -1);
    double std = o->std > 0 ? o->std : 1 / sqrt((double)d);
    return ab_add(c, x, ab_embedding(c, ab_weight(c, "pos", -std, o->max_len, d), pos));
}

static const ab_option params[] = {
    {"max_len", AB_INT, offsetof(config, max_len), 1024, 1, 1 << 20, 0, "longest sequence [tokens]"},
    {"std", AB_REAL, offsetof(config, std), 0, 0, 100, 0,
     "initial standard deviation of the vectors; embeddings, as they are read, have 1; 0 = d_model^-0.5 [none]"},
    {0}};
static const ab_position_plugin self = {.embed = embed};
AB_PLUGIN(config, params, &self, .name = "learned", .doc = "learned absolute position vectors",
          .paper = "Gehring et al. 2017", .version = "1.0");
