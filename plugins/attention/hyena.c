/* Hyena: long convolutions between gates, in place of attention. Poli et al. 2023, arXiv 2302.10866, section 3.
 *
 *     z_1 = v,  z_{k+1} = x_k (h_k * z_k + skip_k z_k),  k = 1 .. order
 *     v, x_k = a short convolution of u W + b
 *     h_k(t) = window(t) FFN(features(t)),  FFN: two layers of sin(frequency (z W + b)), then a linear map
 *
 * features(t): t / length, and cosine and sine of 2 pi f t / length, f = 1 .. bands; window(t) = exp(-a |t| / length) +
 * floor, where a is such that columns fall to 1 % between 0.3 and 1.5 lengths. In the encoder t is negative as well: a
 * filter has taps for later positions. The skip comes from the authors' program. Decoding keeps all z_k: a step after n
 * tokens costs order n d.
 */
#include "ab_plugin.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    int64_t order, conv, width, bands, length;
    double frequency, floor;
} config;

typedef struct {
    int64_t length, bands, columns, first; /* tap i has the offset first + i step */
    int64_t step;
    double floor;
} taps;

static double feature(const void *cfg, const int64_t *i)
{
    const taps *s = cfg;
    double t = (double)(s->first + s->step * i[0]) / (double)s->length;
    if (!i[1]) return t;
    double angle = 2 * acos(-1) * (double)((i[1] + 1) / 2) * t;
    return i[1] % 2 ? cos(angle) : sin(angle);
}

static double window(const void *cfg, const int64_t *i)
{
    const taps *s = cfg;
    double t = (double)llabs(s->first + s->step * i[0]) / (double)s->length,
           place = s->columns > 1 ? (double)(i[1] % s->columns) / (double)(s->columns - 1) : 0;
    double rate = log(100) * (1 / 1.5 + place * (1 / 0.3 - 1 / 1.5));
    return exp(-rate * t) + s->floor;
}

static ab_t sine_layer(ab_ctx *c, const config *o, ab_t z, const char *name)
{
    return ab_map(c, ab_mul_scalar(c, ab_linear(c, ab_fp32(c, z), name, o->width, 1), o->frequency), AB_SIN);
}

/* The filters of all orders, concatenated: [n, order columns]; row i is the tap at s.first + i s.step. */
static ab_t filters(ab_ctx *c, const config *o, taps s, int64_t n)
{
    ab_t z = ab_table(c, feature, &s, n, 1 + 2 * s.bands);
    z = sine_layer(c, o, sine_layer(c, o, z, "filter.in"), "filter.hidden");
    z = ab_linear(c, ab_fp32(c, z), "filter.out", o->order * s.columns, 0);
    return ab_mul(c, z, ab_table(c, window, &s, n, o->order * s.columns));
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    (void)mem;
    int64_t n = in->heads * in->d_v, time = ab_dim(c, ab_kpos(c), -1),
            behind = in->role == AB_CAUSAL ? 0 : (o->conv - 1) / 2;
    ab_t p = ab_linear(c, x, "in", (o->order + 1) * n, 1), past, future = {0}, none = {0};
    if (o->conv > 1) p = ab_depthwise_conv(c, p, "conv", o->conv - 1 - behind, behind);
    past = filters(c, o, (taps){o->length, o->bands, n, 0, 1, o->floor}, time);
    if (in->role != AB_CAUSAL) future = filters(c, o, (taps){o->length, o->bands, n, -1, -1, o->floor}, time);
    ab_t z = ab_slice(c, p, -1, 0, n), skip = ab_weight(c, "skip", -1, o->order, n);
    for (int64_t k = 0; k < o->order; k++) {
        ab_t seen = ab_long_conv(c, z, ab_slice(c, past, -1, k * n, n),
                                 in->role == AB_CAUSAL ? none : ab_slice(c, future, -1, k * n, n));
        seen = ab_add(c, seen, ab_mul(c, z, ab_slice(c, skip, -2, k, 1)));
        z = ab_mul(c, ab_slice(c, p, -1, (k + 1) * n, n), seen);
    }
    return ab_linear(c, z, "out", in->d_model, 1);
}

static const ab_option params[] = {
    {"order", AB_INT, offsetof(config, order), 2, 1, 8, 0, "long convolutions, each followed by a gate [layers]"},
    {"conv", AB_INT, offsetof(config, conv), 3, 1, 16, 0, "width of the projections' convolution; 1: none [tokens]"},
    {"width", AB_INT, offsetof(config, width), 32, 1, 1024, 0, "hidden units of the filters' network [units]"},
    {"bands", AB_INT, offsetof(config, bands), 16, 1, 256, 0, "frequencies among a tap's features [waves]"},
    {"length", AB_INT, offsetof(config, length), 256, 1, 1 << 20, 0,
     "distance in which features have one period and windows fall to between 5 % and nothing [tokens]"},
    {"frequency", AB_REAL, offsetof(config, frequency), 14, 1e-3, 1000, 0,
     "factor in the sines of the filters' network [none]"},
    {"floor", AB_REAL, offsetof(config, floor), 0.05, 0, 1, 0, "added to each window [none]"},
    {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "hyena",
          .doc = "long convolutions whose filters a small network computes, between gates",
          .paper = "Poli et al. 2023 (Hyena), section 3");
