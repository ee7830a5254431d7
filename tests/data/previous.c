/* A position for tests: every head attends to the token at one distance. */
#include "ab_plugin.h"
#include <stddef.h>
typedef struct {
    int64_t distance;
} config;
/* Scores the token at the distance with 0, and any other token with -100 for each position between the two. */
static ab_t bias(ab_ctx *c, const void *cfg, ab_t qpos, ab_t kpos)
{
    double d = (double)((const config *)cfg)->distance;
    return ab_mul_scalar(c, ab_map(c, ab_add_scalar(c, ab_relative_position(c, qpos, kpos), -d), AB_ABS), -100);
}
static const ab_option params[] = {
    {"distance", AB_INT, offsetof(config, distance), -1, -9, 9, 0, "that all look at [tokens]"}, {0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE, .bias = bias};
AB_PLUGIN(config, params, &self, .name = "previous", .doc = "all attention goes to one distance");
