/* Additive attention: scores v' tanh(W q + U k), per head. Bahdanau et al. 2015, section 3.1, appendix A.1.2.
 *
 * The scores are summed one hidden unit at a time, so that nothing of size Tq x Tk x hidden is kept.
 */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t hidden;
} config;

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem), s = {0};
    double scale = sqrt(6.0 / (double)(in->d_k + o->hidden));
    ab_t wq = ab_matmul(c, q, ab_weight(c, "wq", scale, in->heads, in->d_k, o->hidden), 0, 0); /* [B,H,Tq,hidden] */
    ab_t wk = ab_matmul(c, k, ab_weight(c, "wk", scale, in->heads, in->d_k, o->hidden), 0, 0); /* [B,H,Tk,hidden] */
    ab_t out = ab_weight(c, "score", sqrt(3.0 / (double)o->hidden), in->heads, 1, o->hidden);
    for (int64_t i = 0; i < o->hidden; i++) {
        ab_t row = ab_transpose(c, ab_slice(c, wk, -1, i, 1), -1, -2); /* [B,H,1,Tk] */
        ab_t unit = ab_map(c, ab_add(c, ab_slice(c, wq, -1, i, 1), row), AB_TANH);
        ab_t term = ab_mul(c, unit, ab_slice(c, out, -1, i, 1));
        s = i ? ab_add(c, s, term) : term;
    }
    s = ab_mask(c, ab_position(c, s, q, k));
    return ab_output(c, ab_weighted_sum(c, ab_dropout(c, ab_softmax(c, s), in->dropout), v));
}

static const ab_option params[] = {
    {"hidden", AB_INT, offsetof(config, hidden), 8, 1, 512, 0, "width of the scoring layer, per head [units]"}, {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_ALL, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "additive", .doc = "additive attention with one hidden layer",
          .paper = "Bahdanau et al. 2015, section 3.1", .version = "1.0");
