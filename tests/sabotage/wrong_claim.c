/* A position that depends on absolute positions, but claims to be relative. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t max_len;
} config;

static double value(const void *cfg, const int64_t *i)
{
    (void)cfg;
    return sin((double)i[0] * pow(100, -(double)i[1] / 8));
}

static ab_t embed(ab_ctx *c, const void *cfg, ab_t x, ab_t pos)
{
    const config *o = cfg;
    return ab_add(c, x, ab_embedding(c, ab_table(c, value, o, o->max_len, ab_dim(c, x, -1)), pos));
}

static const ab_option params[] = {
    {"max_len", AB_INT, offsetof(config, max_len), 64, 32, 4096, 0, "longest sequence [tokens]"}, {0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE, .embed = embed};
AB_PLUGIN(config, params, &self, .name = "wrong_claim", .doc = "absolute, but claims to be relative");
