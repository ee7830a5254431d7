/* A plugin whose graph depends on whether a file exists. */
#include "ab_plugin.h"
#include <math.h>
#include <unistd.h>

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    (void)cfg;
    double scale = access("/etc/passwd", F_OK) ? 1 : 2;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_attend(c, q, k, v, scale / sqrt((double)ab_info(c)->d_k)));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(char, params, &self, .name = "seed_file", .doc = "test: depends on a file");
