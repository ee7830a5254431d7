/* Rotary positions: q and k are rotated by an angle proportional to the position, so scores depend on distance. Su et
 * al. 2021, eq. 34. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    double base;
} config;
typedef struct {
    double base;
    int64_t width;
} wave;

static double frequency(const void *cfg, const int64_t *i)
{
    const wave *w = cfg;
    return pow(w->base, -2.0 * (double)(i[0] % (w->width / 2)) / (double)w->width);
}
static ab_t rotate(ab_ctx *c, const void *cfg, ab_t x, ab_t pos)
{
    wave w = {((const config *)cfg)->base, ab_dim(c, x, -1)};
    if (w.width % 2) return ab_fail(c, "rotary: d_k must be even: pairs of columns are rotated");
    ab_t angle = ab_outer(c, ab_to_float(c, pos), ab_table(c, frequency, &w, w.width));
    return ab_add(c, ab_mul(c, x, ab_map(c, angle, AB_COS)), ab_mul(c, ab_rotate_half(c, x), ab_map(c, angle, AB_SIN)));
}

static const ab_option params[] = {
    {"base", AB_REAL, offsetof(config, base), 10000, 2, 1e7, 0, "base of the frequencies base^(-2i / d) [tokens]"},
    {0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE, .rotate = rotate};
AB_PLUGIN(config, params, &self, .name = "rotary", .doc = "rotary position embedding of queries and keys",
          .paper = "Su et al. 2021", .version = "1.0");
