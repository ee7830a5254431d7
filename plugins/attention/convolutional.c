/* A convolution instead of self-attention (the paper's Table 1, "Convolutional"): each position sees the `width`
 * positions around it, in the decoder the `width` positions up to itself.
 *
 *     y_t = b + sum over j of W_j x_{t + D j},  j = -(width - 1) / 2 .. width / 2, in the decoder -(width - 1) .. 0
 *
 * D is the dilation, `dilation` growth^layer: with growth = width, a stack of layers reaches width^layers positions.
 * Separable: each feature is convolved by itself (depthwise, W_j diagonal), then features are mixed at each position
 * (pointwise). With glu the convolution is twice as wide, and one half gates the other. Sentences are padded with zeros
 * on both sides (Gehring et al. 2017, section 3; Kalchbrenner et al. 2016, section 3.3, for the decoder).
 */
#include "ab_plugin.h"
#include <math.h>

enum { MOST_DILATION = 4096 };
typedef struct {
    int64_t width, glu, dilation, growth, separable;
} config;

/* ---- shifted positions, [1,B,T,n] ---- */

static ab_t zeros(ab_ctx *c, ab_t x, int64_t time)
{
    return ab_full(c, 0, 1, ab_dim(c, x, -3), time, ab_dim(c, x, -1));
}

/* y_t = x_{t + by} for all positions at once, else 0. Padding behind a sentence is 0 already. */
static ab_t shifted(ab_ctx *c, ab_t x, int64_t by)
{
    int64_t time = ab_dim(c, x, -2), away = by < 0 ? -by : by;
    if (!by) return x;
    if (away >= time) return zeros(c, x, time);
    if (by < 0) return ab_concat(c, zeros(c, x, away), ab_slice(c, x, -2, 0, time - away), -2);
    return ab_concat(c, ab_slice(c, x, -2, away, time - away), zeros(c, x, away), -2);
}

/* In a decoding step, which has one position, the state has the earlier positions concatenated, the newest last. */
static ab_t push(ab_ctx *c, const void *unused, ab_t x, ab_t state)
{
    (void)unused;
    int64_t n = ab_dim(c, x, -1), kept = ab_dim(c, state, -1) - n;
    return kept ? ab_concat(c, ab_slice(c, state, -1, n, kept), x, -1) : x;
}

typedef struct {
    ab_t x, past; /* past: [1,B,1,(reach + 1) n], or id 0: all positions are in x */
    int64_t n, reach;
} places;

/* reach: distance of the farthest earlier position that is read. T = 1 means a decoding step or sentences of one token;
 * the carried state serves both cases. */
static places places_of(ab_ctx *c, ab_t rows, int64_t reach)
{
    places p = {.x = ab_pad(c, rows), .n = ab_dim(c, rows, -1), .reach = reach};
    if (ab_dim(c, p.x, -2) == 1) p.past = ab_scan(c, push, &reach, p.x, (reach + 1) * p.n, 0);
    return p;
}

static ab_t at(ab_ctx *c, const places *p, int64_t by)
{
    if (!p->past.id) return shifted(c, p->x, by);
    return by > 0 ? zeros(c, p->x, 1) : ab_slice(c, p->past, -1, (p->reach + by) * p->n, p->n);
}

static int64_t dilation_of(const config *o, int64_t layer)
{
    int64_t by = o->dilation;
    for (int64_t i = 0; i < layer && by < MOST_DILATION; i++) by *= o->growth;
    return by < MOST_DILATION ? by : MOST_DILATION;
}

/* ---- the two kinds of kernels ---- */

/* Concatenates the positions under the kernel, oldest first: rows [rows, width n]. */
static ab_t side_by_side(ab_ctx *c, const places *p, int64_t width, int64_t before, int64_t dilation)
{
    ab_t seen = at(c, p, -before * dilation);
    for (int64_t j = 1; j < width; j++) seen = ab_concat(c, seen, at(c, p, (j - before) * dilation), -1);
    return ab_pack(c, seen);
}

/* Convolves each feature separately: rows [rows, n]. */
static ab_t depthwise(ab_ctx *c, const places *p, int64_t width, int64_t before, int64_t dilation)
{
    ab_t w = ab_weight(c, "depthwise", sqrt(3.0 / (double)width), width, p->n), y = {0};
    for (int64_t j = 0; j < width; j++) {
        ab_t term = ab_mul(c, at(c, p, (j - before) * dilation), ab_slice(c, w, -2, j, 1));
        y = j ? ab_add(c, y, term) : term;
    }
    return ab_pack(c, y);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    (void)mem;
    int64_t d = in->d_model, wide = o->glu ? 2 * d : d, dilation = dilation_of(o, in->layer);
    int64_t behind = in->role == AB_CAUSAL ? 0 : o->width / 2, before = o->width - 1 - behind;
    ab_t y;
    if (dilation == 1 && !o->separable) {
        y = ab_conv(c, x, "w", wide, before, behind);
    } else {
        places p = places_of(c, x, before * dilation);
        ab_t seen = o->separable ? depthwise(c, &p, o->width, before, dilation)
                                 : side_by_side(c, &p, o->width, before, dilation);
        y = ab_linear(c, seen, "w", wide, 1);
    }
    return o->glu ? ab_mul(c, ab_slice(c, y, -1, 0, d), ab_map(c, ab_slice(c, y, -1, d, d), AB_SIGMOID)) : y;
}

static const ab_option params[] = {
    {"width", AB_INT, offsetof(config, width), 3, 1, 255, 0, "positions under the kernel, k in Table 1 [tokens]"},
    {"glu", AB_BOOL, offsetof(config, glu), 0, 0, 0, 0,
     "gated linear unit on twice the width: a sigmoid(b) (Gehring et al. 2017, section 3.2)"},
    {"dilation", AB_INT, offsetof(config, dilation), 1, 1, MOST_DILATION, 0,
     "distance between positions under the kernel; 1: contiguous (Kalchbrenner et al. 2016, section 3.5) [tokens]"},
    {"growth", AB_INT, offsetof(config, growth), 1, 1, 256, 0,
     "layer i (0, 1, ...) has dilation `dilation` growth^i, at most 4096 [none]"},
    {"separable", AB_BOOL, offsetof(config, separable), 0, 0, 0, 0,
     "convolve each feature by itself, then mix features at each position (Chollet 2017)"},
    {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "convolutional", .doc = "convolution instead of self-attention",
          .paper = "Gehring et al. 2017; Vaswani et al. 2017, Table 1", .version = "1.0");
