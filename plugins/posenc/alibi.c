/* ALiBi: a penalty on the distance with a fixed slope per head, no learned values. Press et al. 2022, section 3.
 *
 * In the encoder, which sees both directions, the penalty is on the absolute distance.
 */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    double steepest;
} config;
typedef struct {
    double steepest;
    int64_t heads;
} fan;

static double slope(const void *cfg, const int64_t *i) /* i: head */
{
    const fan *f = cfg;
    return -pow(2, -f->steepest * (double)(i[0] + 1) / (double)f->heads);
}
static ab_t bias(ab_ctx *c, const void *cfg, ab_t qpos, ab_t kpos)
{
    fan f = {((const config *)cfg)->steepest, ab_info(c)->heads};
    return ab_mul(c, ab_table(c, slope, &f, f.heads, 1, 1), ab_map(c, ab_relative_position(c, qpos, kpos), AB_ABS));
}

static const ab_option params[] = {{"steepest", AB_REAL, offsetof(config, steepest), 8, 1, 16, 0,
                                    "head i (1 .. H) has slope 2^(-steepest i / H) [none]"},
                                   {0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE, .bias = bias};
AB_PLUGIN(config, params, &self, .name = "alibi", .doc = "linear bias on the distance, with a fixed slope per head",
          .paper = "Press et al. 2022", .version = "1.0");
