/* Nothing is wrong here: a rotary position whose angles depend on the tokens (Veisi et al. 2025, eq. 3 to 6). */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static double power(const void *cfg, const int64_t *i) { return (void)cfg, (double)(i[0] + 1); }
static ab_t rotate_by(ab_ctx *c, const void *cfg, ab_t qk, ab_t pos, ab_t x)
{
    int64_t heads = ab_info(c)->heads, half = ab_dim(c, qk, -1) / 2;
    (void)pos;
    ab_t slower = ab_add_scalar(c, ab_softplus(c, ab_linear(c, x, "speed", heads, 1)), 1);
    ab_t log_speed = ab_heads(c, ab_mul_scalar(c, ab_map(c, slower, AB_LOG), -1), heads);
    ab_t speed = ab_map(c, ab_mul(c, log_speed, ab_table(c, power, (const config *)cfg, half)), AB_EXP);
    ab_t a = ab_running_sum(c, speed), angle = ab_concat(c, a, a, -1);
    return ab_add(c, ab_mul(c, qk, ab_map(c, angle, AB_COS)),
                  ab_mul(c, ab_rotate_half(c, qk), ab_map(c, angle, AB_SIN)));
}

static const ab_option params[] = {{0}};
static const ab_position_plugin self = {.rotate_by = rotate_by};
AB_PLUGIN(config, params, &self, .name = "rotates_by_token", .doc = "a rotation by the tokens");
