/* Mixture of block attention: a query attends to its own block of keys and to the top_k - 1 others with the largest
 * product of query and mean key, chosen without gradient. Lu et al. 2025 (MoBA), section 2.2, eq. 2 to 6. Blocks whose
 * product equals that of the best block left out are left out, too.
 *
 * The choice needs n (n / block) numbers per head. CPUs skip keys that a group of adjacent queries has not chosen.
 */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t block, top_k;
} config;

enum { CERTAINLY = 1000000000 }; /* added to products of blocks that must be chosen; far above all products */

static double begin_of(const void *cfg, const int64_t *i)
{
    const config *o = cfg;
    return (double)(i[0] * o->block);
}

/* Sums the keys [B,H,Tk,d] of each block: [B,H,blocks,d]. */
static ab_t sums(ab_ctx *c, ab_t k, int64_t size, int64_t blocks)
{
    int64_t batch = ab_dim(c, k, 0), heads = ab_dim(c, k, 1), d = ab_dim(c, k, 3);
    int64_t rest = blocks * size - ab_dim(c, k, 2);
    if (rest > 0) k = ab_concat(c, k, ab_full(c, 0, batch, heads, rest, d), -2);
    return ab_reshape(c, ab_sum_axis(c, ab_reshape(c, k, batch * heads, blocks, size, d), -2), batch, heads, blocks, d);
}

/* [B,H,Tq,blocks]: above 0 where the query sees the block. */
static ab_t choice(ab_ctx *c, const config *o, ab_t q, ab_t k, int64_t blocks)
{
    ab_t place = ab_reshape(c, ab_to_float(c, ab_qpos(c)), ab_dim(c, q, 2), 1);
    ab_t begin = ab_table(c, begin_of, o, blocks), mean = sums(c, ab_detach(c, k), o->block, blocks);
    ab_t later = ab_less_than(c, place, begin),
         earlier = ab_less_than(c, ab_add_scalar(c, begin, (double)o->block - 1), place);
    ab_t own = ab_add_scalar(c, ab_mul_scalar(c, ab_add(c, earlier, later), -1), 1), bias;
    if (ab_info(c)->role == AB_CAUSAL) { /* an incomplete block cannot be chosen */
        mean = ab_mul_scalar(c, mean, 1 / (double)o->block);
        bias = ab_sub(c, own, later);
    } else {
        ab_t left = ab_sub(c, ab_klen(c), ab_reshape(c, begin, blocks, 1)), one = ab_full(c, 1, 1);
        mean = ab_div(c, mean, ab_minimum(c, ab_maximum(c, left, one), ab_full(c, (double)o->block, 1)));
        bias = ab_sub(c, own, ab_less_than(c, ab_add_scalar(c, ab_klen(c), -1), begin));
    }
    ab_t liking = ab_add(c, ab_matmul(c, ab_detach(c, q), mean, 0, 1), ab_mul_scalar(c, bias, CERTAINLY));
    ab_t best = ab_top_k(c, liking, o->top_k + 1, NULL);
    return ab_less_than(c, ab_slice(c, best, -1, o->top_k, 1), liking);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    int64_t blocks = (ab_dim(c, k, 2) + o->block - 1) / o->block;
    ab_t s = ab_scores(c, q, k, 1 / sqrt((double)in->d_k));
    if (blocks > o->top_k) s = ab_key_blocks(c, s, choice(c, o, q, k, blocks), o->block);
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, ab_softmax(c, s), in->dropout), v));
}

static const ab_option params[] = {
    {"block", AB_INT, offsetof(config, block), 16, 1, 100000, 0, "keys of a block [tokens]"},
    {"top_k", AB_INT, offsetof(config, top_k), 3, 1, 10000, 0, "blocks that a query sees, its own one included"},
    {0}};
static const ab_attention_plugin self = {.roles = AB_SELF | AB_CAUSAL, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .claims = AB_DISCONTINUOUS, .name = "moba",
          .doc = "attention to a query's own block of keys and to those whose mean it likes best",
          .paper = "Lu et al. 2025, MoBA: Mixture of Block Attention, section 2.2, eq. 2 to 6");
