/* Mixture of experts: a gate sends each row to its `top_k` experts, ReLU feed-forwards of width d_ff, and weights their
 * outputs (Shazeer et al. 2017, section 2). The load-balancing loss is that of Fedus et al. 2022 (Switch Transformer),
 * section 2.2. With balancing = bias there is no such loss: each expert has a bias, which affects the choice but not
 * the weights. After every update it moves by bias_rate: up for experts with fewer rows than the mean, else down (Wang
 * et al. 2024, algorithm 1).
 *
 * In training an expert takes at most `capacity` times its even share of rows, those with the largest gate weights
 * (Riquelme et al. 2021, section 4); a row that no expert takes skips the sublayer through the residual connection. So
 * only the top_k experts of a row are computed. In evaluation and decoding, where a row's result must not depend on
 * other rows, there is no capacity: every expert is computed for every row, and experts that the gate did not choose
 * have weight 0. */
#include "experts.h"
#include <math.h>

typedef struct {
    int64_t experts, top_k;
    double capacity, balance, noise;
    int64_t balancing;
    double bias_rate;
} config;
enum { LOSS, BIAS }; /* balancing */

typedef struct {
    ab_t p;      /* [rows,experts] softmax of the gate */
    ab_t chosen; /* [rows,experts] 1 if the row goes to the expert, else 0 */
    ab_t weight; /* [rows,experts] 0 if the row does not go to the expert */
} gating;

static int64_t choices(const config *o) { return o->top_k < o->experts ? o->top_k : o->experts; }

static ab_t load_bias(ab_ctx *c, const config *o) { return ab_buffer(c, "load_bias", 0, 1, o->experts); }

static gating gate(ab_ctx *c, const config *o, ab_t x)
{
    int64_t rows = ab_dim(c, x, -2), k = choices(o);
    ab_t logits = ab_linear(c, x, "gate", o->experts, 0), ids;
    if (o->noise > 0) logits = ab_add(c, logits, ab_mul_scalar(c, ab_normal(c, rows, o->experts), o->noise));
    ab_t p = ab_softmax(c, logits), best;
    if (o->balancing == BIAS) {
        ab_top_k(c, ab_detach(c, ab_add(c, p, load_bias(c, o))), k, &ids);
        best = ab_gather(c, p, ids);
    } else {
        best = ab_top_k(c, p, k, &ids);
    }
    /* k = 1 keeps p, because a normalised weight of 1 would give the gate no gradient */
    if (k > 1) best = ab_div(c, best, ab_sum_axis(c, best, -1));
    return (gating){p, ab_scatter_add(c, ab_full(c, 1, rows, k), ids, o->experts),
                    ab_scatter_add(c, best, ids, o->experts)};
}

static ab_t all_rows(ab_ctx *c, const config *o, ab_t x, ab_t weight)
{
    ab_t y = {0};
    for (int64_t e = 0; e < o->experts; e++) {
        ab_t part = ab_mul(c, expert(c, x, e), ab_slice(c, weight, -1, e, 1));
        y = e ? ab_add(c, y, part) : part;
    }
    return y;
}

/* experts * the sum over experts of (share of choices * mean of p), over rows with a token: 1 when both are even. */
static ab_t imbalance(ab_ctx *c, const config *o, const gating *g, ab_t mask)
{
    ab_t n = sum(c, mask), choice = ab_sum_axis(c, ab_mul(c, g->chosen, mask), -2),
         mean = ab_sum_axis(c, ab_mul(c, g->p, mask), -2);
    ab_t share = ab_div(c, ab_mul(c, choice, mean), ab_mul(c, n, n));
    return ab_mul_scalar(c, sum(c, share), (double)o->experts / (double)choices(o));
}

/* Moves the biases by how many rows the gate sends to each expert. */
static void move_bias(ab_ctx *c, const config *o, const gating *g, ab_t mask)
{
    ab_t rows = ab_sum_axis(c, ab_mul(c, g->chosen, mask), -2), bias = load_bias(c, o);
    ab_t mean = ab_mul_scalar(c, ab_sum_axis(c, rows, -1), 1 / (double)o->experts);
    ab_t missing = ab_map(c, ab_sub(c, mean, rows), AB_SIGN);
    ab_set_buffer(c, bias, ab_add(c, bias, ab_mul_scalar(c, missing, o->bias_rate)));
    ab_t most = ab_max_axis(c, rows, -1); /* MaxVio of Wang et al. 2024, section 4.1 */
    ab_log(c, "violation", ab_add_scalar(c, ab_div(c, most, mean), -1));
}

static ab_t taken_rows(ab_ctx *c, const config *o, ab_t x, const gating *g)
{
    int64_t rows = ab_dim(c, x, -2), n = (int64_t)ceil(o->capacity * (double)(choices(o) * rows) / (double)o->experts);
    ab_t mask = ab_row_mask(c), weight = ab_transpose(c, ab_mul(c, g->weight, mask), -1, -2), ids; /* [experts,rows] */
    if (n > rows) n = rows;
    ab_t mine = ab_top_k(c, weight, n, &ids); /* [experts,n]; if an expert has fewer rows, also rows of weight 0 */
    ids = ab_reshape(c, ids, o->experts * n);
    ab_t y = ab_mul(c, experts(c, ab_embedding(c, x, ids), 0, o->experts), ab_reshape(c, mine, o->experts * n, 1));
    ab_t kept = sum(c, ab_less_than(c, ab_full(c, 0, 1), mine)), wanted = sum(c, ab_mul(c, g->chosen, mask));
    if (o->balancing == BIAS)
        move_bias(c, o, g, mask);
    else
        ab_add_loss(c, "balance", imbalance(c, o, g, mask), o->balance);
    ab_t load = ab_div(c, ab_sum_axis(c, ab_mul(c, g->chosen, mask), -2), wanted); /* [experts]: share of the choices */
    ab_log(c, "load", load);
    ab_log(c, "dropped", ab_sub(c, ab_full(c, 1, 1), ab_div(c, kept, wanted)));
    return ab_scatter_rows(c, y, ids, rows);
}

static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    const config *o = cfg;
    gating g = gate(c, o, x);
    return ab_info(c)->training ? taken_rows(c, o, x, &g) : all_rows(c, o, x, g.weight);
}

static const ab_option params[] = {
    {"experts", AB_INT, offsetof(config, experts), 4, 1, 64, 0, "number of feed-forwards, each of width d_ff [count]"},
    {"top_k", AB_INT, offsetof(config, top_k), 2, 1, 64, 0, "experts per row, at most `experts` [count]"},
    {"capacity", AB_REAL, offsetof(config, capacity), 1.25, 0.1, 64, 0,
     "most rows that an expert takes in training, relative to an even share [ratio]"},
    {"balance", AB_REAL, offsetof(config, balance), 0.01, 0, 100, 0, "weight of the load-balancing loss [none]"},
    {"noise", AB_REAL, offsetof(config, noise), 0, 0, 10, 0,
     "standard deviation of normal noise on the gate's logits in training [none]"},
    {"balancing", AB_CHOICE, offsetof(config, balancing), LOSS, 0, 0, "loss|bias",
     "what evens out the experts' rows: a loss, or a bias of each expert in the choice [word]"},
    {"bias_rate", AB_REAL, offsetof(config, bias_rate), 0.001, 0, 1, 0,
     "balancing = bias: how far a bias moves in an update, u [probability]"},
    {0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .claims = AB_TRAINS_ON_BATCH, .name = "moe",
          .doc = "mixture of experts: a gate chooses the experts for each row",
          .paper = "Shazeer et al. 2017, Outrageously Large Neural Networks; Fedus et al. 2022, Switch Transformers, "
                   "section 2.2; Wang et al. 2024, Auxiliary-Loss-Free Load Balancing");
