/* Linear attention: phi(q) sum_j phi(k_j) v_j' / phi(q) sum_j phi(k_j), phi = elu + 1. Katharopoulos et al.
 * 2020, eq. 4 to 12.
 *
 * Decoding carries the two running sums, so a step costs the same at any length.
 */
#include "ab_plugin.h"

typedef struct {
    double eps;
} config;

static double one(const void *cfg, const int64_t *i)
{
    (void)cfg, (void)i;
    return 1;
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    ab_t q = ab_map(c, ab_query(c, x), AB_ELU1), k = ab_map(c, ab_key_step(c, mem), AB_ELU1), v = ab_value_step(c, mem);
    ab_t ones = ab_add(c, ab_mul_scalar(c, ab_slice(c, v, -1, 0, 1), 0), ab_table(c, one, o, 1, 1)); /* [B,H,Tk,1] */
    ab_t weight = ab_add_scalar(c, ab_causal_kv_sum(c, q, k, ones), o->eps);
    return ab_output(c, ab_div(c, ab_causal_kv_sum(c, q, k, v), weight));
}

static const ab_option params[] = {
    {"eps", AB_REAL, offsetof(config, eps), 1e-6, 0, 1, 0, "added to the normaliser [none]"}, {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED | AB_POS_ROTATE, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "linear", .doc = "linear attention by running sums, phi = elu + 1",
          .paper = "Katharopoulos et al. 2020, eq. 4 to 12", .version = "1.0");
