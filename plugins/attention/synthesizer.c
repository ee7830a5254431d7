/* Synthesizer: attention weights without products of queries and keys.
 *
 *     dense:  scores_i = W2 relu(W1 x_i + b), from the query's row       random: scores = R, learned for every pair of
 *     positions
 *
 * A table of max_len columns (and rows, if random) holds the scores of each head; a sentence uses its first columns.
 */
#include "ab_plugin.h"
#include <math.h>

enum { DENSE, RANDOM };
typedef struct {
    int64_t kind, max_len;
} config;

static ab_t dense(ab_ctx *c, const config *o, ab_t x) /* [B,H,Tq,max_len] */
{
    const ab_info *in = ab_info(c);
    ab_t hidden = ab_heads(c, ab_linear_relu(c, x, "hidden", in->heads * in->d_k, 1), in->heads);
    return ab_matmul(c, hidden,
                     ab_weight(c, "places", sqrt(6.0 / (double)(in->d_k + o->max_len)), in->heads, in->d_k, o->max_len),
                     0, 0);
}

/* Padding positions beyond max_len share the last row. */
static ab_t random_table(ab_ctx *c, const config *o) /* [H,Tq,max_len] */
{
    const ab_info *in = ab_info(c);
    ab_t last = ab_full(c, (double)(o->max_len - 1), 1),
         queries = ab_to_ids(c, ab_minimum(c, ab_to_float(c, ab_qpos(c)), last)),
         table = ab_weight(c, "pairs", -0.1, o->max_len, in->heads * o->max_len);
    ab_t rows = ab_reshape(c, ab_embedding(c, table, queries), ab_dim(c, queries, -1), in->heads, o->max_len);
    return ab_transpose(c, rows, -2, -3);
}

/* The first Tk columns; if a cache is longer than the table, 0 behind the table: those keys are masked. */
static ab_t columns(ab_ctx *c, ab_t s, int64_t tk)
{
    int64_t have = ab_dim(c, s, -1);
    if (tk <= have) return ab_slice(c, s, -1, 0, tk);
    ab_t nothing = ab_mul_scalar(c, ab_slice(c, s, -1, 0, 1), 0);
    return ab_concat(c, s, ab_add(c, nothing, ab_full(c, 0, tk - have)), -1);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    ab_t v = ab_remember(c, ab_heads(c, ab_linear(c, mem, "v", in->heads * in->d_v, 1), in->heads));
    ab_t s = columns(c, o->kind == DENSE ? dense(c, o, x) : random_table(c, o), ab_dim(c, v, -2));
    /* adds the batch axis, which the mask has but a random table lacks */
    ab_t none = ab_full(c, 0, ab_dim(c, v, -4), in->heads, 1, 1);
    ab_t p = ab_softmax(c, ab_mask(c, ab_add(c, s, none)));
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, p, in->dropout), v));
}

static const ab_option params[] = {
    {"kind", AB_CHOICE, offsetof(config, kind), DENSE, 0, 0, "dense|random",
     "scores from the query's row, or from a learned table"},
    {"max_len", AB_INT, offsetof(config, max_len), 256, 1, 1 << 16, 0, "longest sentence [tokens]"},
    {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "synthesizer",
          .doc = "attention weights without keys: from each query alone, or learned",
          .paper = "Tay et al. 2020 (Synthesizer), eq. 3 and 5");
