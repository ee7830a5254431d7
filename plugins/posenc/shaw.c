/* Relative positions: a learned vector per clipped distance, added to keys and to values. Shaw et al. 2018, eq. 3 and
 * 4. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t clip;
} config;

static ab_t scores(ab_ctx *c, const void *cfg, ab_t s, ab_t q, ab_t k, ab_t qpos, ab_t kpos)
{
    const config *o = cfg;
    int64_t d = ab_dim(c, q, -1);
    (void)k;
    ab_t e = ab_weight(c, "rel_k", 1 / sqrt((double)d), 2 * o->clip + 1, d);
    ab_t by_distance = ab_mul_scalar(c, ab_matmul(c, q, e, 0, 1), 1 / sqrt((double)d));
    return ab_add(c, s, ab_gather(c, by_distance, ab_clipped_relative_position(c, qpos, kpos, o->clip)));
}
static ab_t values(ab_ctx *c, const void *cfg, ab_t y, ab_t p, ab_t qpos, ab_t kpos)
{
    const config *o = cfg;
    int64_t n = 2 * o->clip + 1, d = ab_dim(c, y, -1);
    ab_t e = ab_weight(c, "rel_v", 1 / sqrt((double)d), n, d);
    return ab_add(c, y,
                  ab_matmul(c, ab_scatter_add(c, p, ab_clipped_relative_position(c, qpos, kpos, o->clip), n), e, 0, 0));
}

static const ab_option params[] = {
    {"clip", AB_INT, offsetof(config, clip), 16, 1, 4096, 0, "distances beyond this share one vector [tokens]"}, {0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE, .scores = scores, .values = values};
AB_PLUGIN(config, params, &self, .name = "shaw", .doc = "learned relative positions added to keys and values",
          .paper = "Shaw et al. 2018, eq. 3, 4", .version = "1.0");
