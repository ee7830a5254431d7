/* A long short-term memory instead of self-attention; in the encoder, half of the width runs in each direction.
 *
 *     i, f, o = sigmoid(W x + U h), g = tanh(W x + U h), m' = f m + i g, h' = o tanh(m')      Gers et al. 2000, eq. 1
 *     to 7
 */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t width;
} config;
typedef struct {
    int64_t d;
    ab_t u;
} cell;

static ab_t part(ab_ctx *c, ab_t a, int64_t d, int i, ab_fn f) { return ab_map(c, ab_slice(c, a, -1, i * d, d), f); }

/* state: h and m side by side. */
static ab_t step(ab_ctx *c, const void *cfg, ab_t x, ab_t state)
{
    const cell *l = cfg;
    int64_t d = l->d;
    ab_t h = ab_slice(c, state, -1, 0, d), m = ab_slice(c, state, -1, d, d),
         a = ab_add(c, x, ab_matmul(c, h, l->u, 0, 0));
    m = ab_add(c, ab_mul(c, part(c, a, d, 1, AB_SIGMOID), m),
               ab_mul(c, part(c, a, d, 0, AB_SIGMOID), part(c, a, d, 3, AB_TANH)));
    return ab_concat(c, ab_mul(c, part(c, a, d, 2, AB_SIGMOID), ab_map(c, m, AB_TANH)), m, -1);
}

static ab_t layer(ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards)
{
    cell l = {d, ab_weight(c, u, 1 / sqrt((double)d), d, 4 * d)};
    ab_t states = ab_scan(c, step, &l, ab_pad(c, ab_linear(c, x, in, 4 * d, 1)), 2 * d, backwards);
    return ab_pack(c, ab_slice(c, states, -1, 0, d));
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    int64_t d = o->width > 0 ? o->width : in->d_model;
    (void)mem;
    if (in->role == AB_CAUSAL) return ab_linear(c, layer(c, x, "in", "u", d, 0), "out", in->d_model, 1);
    if (d % 2) return ab_fail(c, "lstm: width must be even: half of it runs in each direction");
    ab_t there = layer(c, x, "in", "u", d / 2, 0), back = layer(c, x, "in_back", "u_back", d / 2, 1);
    return ab_linear(c, ab_concat(c, there, back, -1), "out", in->d_model, 1);
}

static const ab_option params[] = {{"width", AB_INT, offsetof(config, width), -1, 2, 16384, "auto",
                                    "size of the state, both directions together; auto: d_model [units]"},
                                   {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "lstm", .doc = "long short-term memory instead of self-attention",
          .paper = "Hochreiter and Schmidhuber 1997; Gers et al. 2000");
