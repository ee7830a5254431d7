/* Attention with sparse weights: exact alpha-entmax instead of softmax, by sorting. alpha = 1.5: Peters et al. 2019,
 * section 3.2 and appendix C.1; alpha = 2, sparsemax: Martins and Astudillo 2016, algorithm 1.
 *
 * In both cases p = max(0, z - tau)^(1 / (alpha - 1)) with z = (alpha - 1) s and the threshold tau at which the weights
 * sum to 1. The sorted scores determine which keys are above tau, without a gradient; tau is then computed from those
 * keys only. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t alpha; /* 0: 1.5, 1: 2 */
} config;

static double not_after(const void *unused, const int64_t *i) { return (void)unused, i[0] <= i[1]; }
static double place(const void *unused, const int64_t *i) { return (void)unused, (double)(i[0] + 1); }

/* tau, if exactly these `n` numbers with this sum and sum of squares are above it. */
static ab_t threshold(ab_ctx *c, const config *o, ab_t n, ab_t sum, ab_t squares)
{
    if (o->alpha) return ab_div(c, ab_add_scalar(c, sum, -1), n);
    ab_t mean = ab_div(c, sum, n), spread = ab_sub(c, squares, ab_mul(c, sum, mean)); /* sum of (z - mean)^2 */
    ab_t rest = ab_map(c, ab_add_scalar(c, ab_mul_scalar(c, spread, -1), 1), AB_RELU);
    return ab_sub(c, mean, ab_map(c, ab_div(c, rest, n), AB_SQRT));
}

/* 1 where z [..,T] is above its row's threshold, else 0. */
static ab_t support(ab_ctx *c, const config *o, ab_t z)
{
    ab_t first = ab_detach(c, ab_sort(c, z, 1, NULL));
    int64_t t = ab_dim(c, z, -1);
    /* a product with `before` gives prefix sums */
    ab_t before = ab_table(c, not_after, o, t, t), n = ab_table(c, place, o, t);
    ab_t tau =
        threshold(c, o, n, ab_matmul(c, first, before, 0, 0), ab_matmul(c, ab_map(c, first, AB_SQUARE), before, 0, 0));
    /* all numbers of the prefix are above its tau */
    ab_t fits = ab_sub(c, ab_full(c, 1, 1), ab_less_than(c, first, tau));
    ab_t last = ab_to_ids(c, ab_add_scalar(c, ab_sum_axis(c, fits, -1), -1));
    return ab_detach(c, ab_less_than(c, ab_gather(c, tau, last), z));
}

/* A number more than 1 below the largest cannot be above tau, so z is shifted to a maximum of 0 and clamped at -2,
 * masked keys (-inf) too. */
static ab_t entmax(ab_ctx *c, const config *o, ab_t s)
{
    ab_t z = ab_mul_scalar(c, s, o->alpha ? 1 : 0.5), lowest = ab_full(c, -1e30, 1);
    ab_t top = ab_maximum(c, ab_detach(c, ab_max_axis(c, z, -1)), lowest);
    z = ab_maximum(c, ab_sub(c, z, top), ab_full(c, -2, 1));
    ab_t in = support(c, o, z), kept = ab_mul(c, z, in);
    ab_t tau =
        threshold(c, o, ab_sum_axis(c, in, -1), ab_sum_axis(c, kept, -1), ab_sum_axis(c, ab_mul(c, kept, kept), -1));
    ab_t above = ab_mul(c, in, ab_sub(c, z, tau));
    return o->alpha ? above : ab_map(c, above, AB_SQUARE);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    ab_t p = entmax(c, cfg, ab_scores(c, q, k, 1 / sqrt((double)in->d_k)));
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, p, in->dropout), v));
}

static const ab_option params[] = {{"alpha", AB_CHOICE, offsetof(config, alpha), 0, 0, 0, "1.5|2",
                                    "1.5: sparse weights; 2: sparsemax, with more zeros"},
                                   {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL | AB_CROSS,
                                         .accepts =
                                             AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS | AB_POS_SCORES | AB_POS_VALUES,
                                         .forward = forward};
AB_PLUGIN(config, params, &self, .name = "entmax",
          .doc = "attention with sparse weights: entmax or sparsemax instead of softmax",
          .paper = "Peters, Niculae and Martins 2019, Sparse Sequence-to-Sequence Models; Martins and Astudillo 2016");
