/* Mixture of depths (Raposo et al. 2024, arXiv 2404.02258) for the feed-forward: of each sentence only the
 * ceil(capacity x length) tokens with the largest router weight r = x w + b pass through it, a ReLU layer of width
 * d_ff. Their output is multiplied by sigmoid(r), so that the router gets a gradient; the other tokens skip the
 * sublayer through the residual connection. The paper has no b; with it the router can learn that few tokens are
 * chosen.
 *
 * Training computes only as many rows as can be chosen: capacity x rows and one per sentence. A decoder cannot know the
 * best tokens before a sentence's end, so in evaluation and decoding it chooses those with sigmoid(r) > 0.5, possibly
 * all: there every row is computed. The binary cross entropy between sigmoid(r) and the choice in training teaches the
 * router this threshold (section 3.5). Curves: the share of tokens chosen in training, and the share for which the
 * threshold chooses otherwise (missed). */
#include "experts.h"
#include <math.h>

typedef struct {
    double capacity, auxiliary;
} config;

static ab_t feed_forward(ab_ctx *c, ab_t x) { return relu_layer(c, x, "1", "2"); }

static double number(const void *cfg, const int64_t *i)
{
    (void)cfg;
    return (double)i[0];
}

/* r [rows,1] -> [rows,1]: 1 for the best of each sentence (the first among equals), else 0. */
static ab_t best_of_sentences(ab_ctx *c, const config *o, ab_t r, int64_t *sentences)
{
    const double least = 1e-3; /* keeps a rounding error in capacity x length from adding a token */
    ab_t there = ab_pad(c, ab_full(c, 1, ab_dim(c, r, -2), 1)), padded = ab_pad(c, r), ids; /* [1,B,T,1] */
    int64_t b = ab_dim(c, there, -3), t = ab_dim(c, there, -2);
    there = ab_reshape(c, there, b, t), padded = ab_reshape(c, padded, b, t);
    ab_sort(c, ab_where(c, there, padded, ab_full(c, -INFINITY, 1)), 1, &ids);
    ab_t most = ab_add_scalar(c, ab_mul_scalar(c, ab_sum_axis(c, there, -1), o->capacity), -least); /* [B,1] */
    ab_t taken = ab_less_than(c, ab_table(c, number, o, t), most); /* [B,T], in sorted order */
    *sentences = b;
    return ab_pack(c, ab_reshape(c, ab_scatter_add(c, taken, ids, t), 1, b, t, 1));
}

/* Adds the router's loss and the curves; tokens [rows,1]: 1 for a row with a token, else 0. */
static void record(ab_ctx *c, const config *o, ab_t r, ab_t chosen, ab_t tokens)
{
    ab_t n = sum(c, tokens), above = ab_less_than(c, ab_full(c, 0, 1), r);
    ab_t entropy = ab_sub(c, ab_softplus(c, r), ab_mul(c, r, chosen));
    ab_t differs = ab_map(c, ab_sub(c, above, chosen), AB_ABS);
    ab_add_loss(c, "router", ab_div(c, sum(c, ab_mul(c, entropy, tokens)), n), o->auxiliary);
    ab_log(c, "chosen", ab_div(c, sum(c, ab_mul(c, chosen, tokens)), n));
    ab_log(c, "missed", ab_div(c, sum(c, ab_mul(c, differs, tokens)), n));
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    const config *o = cfg;
    int64_t rows = ab_dim(c, x, -2), b;
    ab_t r = ab_linear(c, ab_fp32(c, x), "router", 1, 1), weight = ab_map(c, r, AB_SIGMOID), ids;
    if (ab_info(c)->role == AB_CAUSAL && !ab_info(c)->training)
        return ab_mul(c, feed_forward(c, x), ab_mul(c, weight, ab_less_than(c, ab_full(c, 0, 1), r)));
    ab_t chosen = best_of_sentences(c, o, r, &b);
    if (ab_info(c)->training) record(c, o, r, chosen, ab_row_mask(c));
    int64_t n = (int64_t)ceil(o->capacity * (double)rows) + b;
    if (n > rows) n = rows;
    ab_t there = ab_top_k(c, ab_reshape(c, chosen, 1, rows), n, &ids); /* includes rows that are not chosen, with 0 */
    ids = ab_reshape(c, ids, n);
    ab_t y = ab_mul(c, feed_forward(c, ab_embedding(c, x, ids)), ab_reshape(c, there, n, 1));
    return ab_scatter_rows(c, ab_mul(c, y, ab_embedding(c, weight, ids)), ids, rows);
}

static const ab_option params[] = {{"capacity", AB_REAL, offsetof(config, capacity), 0.5, 0.01, 1, 0,
                                    "tokens of a sentence that pass through the feed-forward, rounded up [share]"},
                                   {"auxiliary", AB_REAL, offsetof(config, auxiliary), 0.01, 0, 100, 0,
                                    "weight of the loss that teaches the router which tokens are chosen [none]"},
                                   {0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .claims = AB_MIXES_TOKENS | AB_TRAINS_ON_BATCH | AB_DISCONTINUOUS,
          .name = "mixture_of_depths",
          .doc = "ReLU layer that only the tokens with the largest router weights pass through",
          .paper = "Raposo et al. 2024, Mixture-of-Depths");
