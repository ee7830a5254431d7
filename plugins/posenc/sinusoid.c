/* Sinusoids added to the embedding: PE(pos,2i) = sin(pos / base^(2i/d)), PE(pos,2i+1) = cos(same). Vaswani et al. 2017,
 * section 3.5. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    double base;
    int64_t max_len;
} config;
typedef struct {
    double base;
    int64_t width;
} wave;

static double value(const void *cfg, const int64_t *i) /* i: position and column */
{
    const wave *w = cfg;
    double angle = (double)i[0] * pow(w->base, -(double)(i[1] / 2 * 2) / (double)w->width);
    return i[1] % 2 ? cos(angle) : sin(angle);
}
static ab_t embed(ab_ctx *c, const void *cfg, ab_t x, ab_t pos)
{
    const config *o = cfg;
    wave w = {o->base, ab_dim(c, x, -1)};
    return ab_add(c, x, ab_embedding(c, ab_table(c, value, &w, o->max_len, w.width), pos));
}

static const ab_option params[] = {
    {"base", AB_REAL, offsetof(config, base), 10000, 2, 1e7, 0, "base of the frequencies base^(-2i / d) [tokens]"},
    {"max_len", AB_INT, offsetof(config, max_len), 1024, 1, 1 << 20, 0, "longest sequence [tokens]"},
    {0}};
static const ab_position_plugin self = {.embed = embed};
AB_PLUGIN(config, params, &self, .name = "sinusoid", .doc = "fixed sinusoids added to the embedding",
          .paper = "Vaswani et al. 2017, section 3.5", .version = "1.0");
