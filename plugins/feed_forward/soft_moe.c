/* Soft mixture of experts (Puigcerver et al. 2023, arXiv 2308.00951, section 2): an expert gets slots, each a mean of
 * the sentence's tokens, and a token gets a mean of all slots' outputs. With X the tokens [T,d], Phi [d, all slots]:
 *     L = scale X Phi, where rows of X and columns of Phi have length 1 and scale is learned (section 2.3)
 *     the slots are softmax(L over the tokens)' X
 *     a token's result is softmax(L over the slots) times the experts' outputs.
 * Nothing is chosen and nothing dropped.
 *
 * The encoder computes this once per sentence. In a decoder, where token t sees no later one, the softmax over the
 * tokens ends with t: the slots of t are running sums of exp(L) x divided by running sums of exp(L). So every token has
 * slots of its own and costs as many feed-forwards as there are slots. exp(L) needs no maximum subtracted: |L| is at
 * most |scale|, and a decoder clamps the scale to +-MOST_SCALE, so that sums and their squares fit into fp32. */
#include "experts.h"
#include <math.h>

typedef struct {
    int64_t experts, slots;
    double scale;
} config;

#define MOST_SCALE 30.

static int64_t slots_of_all(const config *o) { return o->experts * o->slots; }

/* x [rows,d] -> L [rows,slots] */
static ab_t scores(ab_ctx *c, const config *o, ab_t x)
{
    int64_t d = ab_dim(c, x, -1);
    ab_t phi = ab_weight(c, "phi", -1 / sqrt((double)d), d, slots_of_all(o));
    ab_t scale = ab_weight_full(c, "scale", o->scale, 1);
    if (ab_info(c)->role == AB_CAUSAL)
        scale = ab_maximum(c, ab_minimum(c, scale, ab_full(c, MOST_SCALE, 1)), ab_full(c, -MOST_SCALE, 1));
    ab_t directions = ab_mul(c, ab_unit_length(c, ab_transpose(c, phi, -1, -2), 1e-12), scale);
    return ab_matmul(c, ab_unit_length(c, x, 1e-12), directions, 0, 1);
}

/* In the encoder: all tokens of a sentence share its slots. */
static ab_t of_sentences(ab_ctx *c, const config *o, ab_t x)
{
    ab_t tokens = ab_pad(c, x), l = ab_pad(c, scores(c, o, x)); /* [1,B,T,d], [1,B,T,slots] */
    ab_t there = ab_pad(c, ab_full(c, 1, ab_dim(c, x, -2), 1)); /* [1,B,T,1]: 0 at padding */
    ab_t dispatch = ab_where(c, ab_transpose(c, there, -1, -2), ab_transpose(c, l, -1, -2), ab_full(c, -INFINITY, 1));
    ab_t slots = ab_matmul(c, ab_softmax(c, dispatch), tokens, 0, 0); /* [1,B,slots,d] */
    return ab_pack(c, ab_matmul(c, ab_softmax(c, l), experts(c, slots, 0, o->experts), 0, 0));
}

/* [1,B,T,n] -> [B,n,T,1], and [B,n,T,d] -> [1,B,T,n d] */
static ab_t apart(ab_ctx *c, ab_t x)
{
    return ab_transpose(c, ab_reshape(c, x, ab_dim(c, x, -3), ab_dim(c, x, -2), ab_dim(c, x, -1), 1), -2, -3);
}
static ab_t side_by_side(ab_ctx *c, ab_t x)
{
    int64_t d = ab_dim(c, x, -1), n = ab_dim(c, x, -3), t = ab_dim(c, x, -2);
    return ab_reshape(c, ab_transpose(c, x, -2, -3), 1, ab_dim(c, x, -4), t, n * d);
}

/* In a decoder: every token has its own slots. */
static ab_t of_prefixes(ab_ctx *c, const config *o, ab_t x)
{
    int64_t rows = ab_dim(c, x, -2), d = ab_dim(c, x, -1), n = slots_of_all(o);
    ab_t l = scores(c, o, x), padded = ab_pad(c, x); /* [rows,n], [1,B,T,d] */
    ab_t w = apart(c, ab_pad(c, ab_map(c, l, AB_EXP)));
    ab_t sum = ab_running_sum(c, w); /* [B,n,T,1]; constant behind a sentence's end */
    ab_t tokens = ab_reshape(c, padded, ab_dim(c, padded, -3), 1, ab_dim(c, padded, -2), d);
    ab_t slots = ab_div(c, ab_running_sum(c, ab_mul(c, w, tokens)), sum); /* [B,n,T,d] */
    slots = ab_reshape(c, ab_pack(c, side_by_side(c, slots)), 1, rows, n, d);
    ab_t combine = ab_reshape(c, ab_softmax(c, l), 1, rows, 1, n);
    return ab_reshape(c, ab_matmul(c, combine, experts(c, slots, 0, o->experts), 0, 0), rows, d);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    return ab_info(c)->role == AB_CAUSAL ? of_prefixes(c, cfg, x) : of_sentences(c, cfg, x);
}

static const ab_option params[] = {
    {"experts", AB_INT, offsetof(config, experts), 4, 1, 64, 0, "number of feed-forwards, each of width d_ff [count]"},
    {"slots", AB_INT, offsetof(config, slots), 1, 1, 64, 0, "slots of each expert [count]"},
    {"scale", AB_REAL, offsetof(config, scale), 1, 0.01, MOST_SCALE, 0,
     "initial value of the learned factor of the logits; at 1 all weights are alike [none]"},
    {0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .claims = AB_MIXES_TOKENS, .name = "soft_moe",
          .doc = "soft mixture of experts: each expert sees weighted means of a sentence's tokens",
          .paper = "Puigcerver et al. 2023, From Sparse to Soft Mixtures of Experts");
