/* Costs counted on the tape: products agree with the formula of the paper's model, attention grows with the square of
 * the length, and each operation counts under its category. */
#include "tensor/cpu/cpu.h"
#include "network/model/costs.h"
#include "count_formula.h"
#include "test.h"

enum { VOCAB = 50, SENTENCES = 3, LENGTH_OF_ONE = 8 };

/* width: self-attention is replaced by separable convolutions of this width; NULL: `attention` is used everywhere. */
static model_costs costs_of(const char *attention, const char *heads, const char *width, int64_t length,
                            double *formula)
{
    arena a = {0};
    settings set = {0};
    err e = {0};
    model m;
    model_costs c = {0};
    static const char *const small[][2] = {{"d_model", "32"}, {"d_ff", "48"}, {"layers", "2"}};
    static const char *const convolution[4][2] = {{"convolutional.width"},
                                                  {"convolutional.separable", "true"},
                                                  {"attention_encoder", "convolutional"},
                                                  {"attention_decoder", "convolutional"}};
    for (const ab_option *p = config_params; p->name; p++) settings_set(&set, p->name, param_default(p, &a), &a);
    for (size_t i = 0; i < LENGTH(small); i++) settings_set(&set, small[i][0], small[i][1], &a);
    settings_set(&set, "attention", attention, &a);
    settings_set(&set, "heads", heads, &a);
    for (int i = 0; i < 4 && width; i++) settings_set(&set, convolution[i][0], i ? convolution[i][1] : width, &a);
    CHECK_INT(model_open_to_count(&m, &set, VOCAB, VOCAB, F32, &cpu_backend, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_THAT(!m.params.value, "counting took memory for the learned values");
    int64_t rows = SENTENCES * length;
    model_shape s = {.batch = SENTENCES, .src_rows = rows, .tgt_rows = rows, .src_time = length, .tgt_time = length};
    CHECK_INT(model_count_costs(&m, &s, &c, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(c.parameters, params_count(&m.params));
    if (formula) {
        CHECK_INT(c.parameters, count_formula(&m.cfg, VOCAB, true));
        *formula = model_flops(&m, (double)rows, (double)rows);
    }
    model_free(&m);
    arena_free(&a);
    return c;
}

static double separable_cost(const char *width, int64_t length)
{
    return costs_of("scaled_dot", "4", width, length, NULL).forward[COST_ATTENTION];
}

/* Section 3.2.2: all heads of width d_model / h together cost as much as one head of width d_model, except for
 * softmaxes. */
static void check_heads(void)
{
    double one = costs_of("scaled_dot", "1", NULL, LENGTH_OF_ONE, NULL).forward[COST_ATTENTION],
           eight = costs_of("scaled_dot", "8", NULL, LENGTH_OF_ONE, NULL).forward[COST_ATTENTION];
    CHECK_THAT(eight >= one && eight < 1.1 * one, "attention, forward: found %.0f FLOPs with 8 heads, %.0f with one",
               eight, one);
}

/* Section 4: a separable convolution's filters cost k n d, which is n^2 d if k = n. */
static void check_separable(void)
{
    enum { N = 64 }; /* much longer than k, since taps beyond the ends cost nothing */
    double step = separable_cost("8", N) - separable_cost("4", N);
    CHECK_NEAR((separable_cost("16", N) - separable_cost("8", N)) / step, 2, 0.1);
    CHECK_NEAR((separable_cost("8", 2 * N) - separable_cost("4", 2 * N)) / step, 2, 0.1);
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    enum { LAYERS = 2, D = 32, FF = 48 };
    double formula, rows = SENTENCES * LENGTH_OF_ONE;
    model_costs one = costs_of("scaled_dot", "4", NULL, LENGTH_OF_ONE, &formula),
                two = costs_of("scaled_dot", "4", NULL, 2 * LENGTH_OF_ONE, NULL);
    /* in both stacks, the two products of a feed-forward in the forward pass */
    double products = 2 * rows * 2 * D * FF * 2 * LAYERS;
    CHECK_THAT(one.forward[COST_FEED_FORWARD] >= products && one.forward[COST_FEED_FORWARD] < 1.1 * products,
               "feed-forward, forward: found %.0f FLOPs, its products alone are %.0f", one.forward[COST_FEED_FORWARD],
               products);
    double ratio = one.backward[COST_FEED_FORWARD] / one.forward[COST_FEED_FORWARD];
    CHECK_THAT(ratio > 1.9 && ratio < 2.2, "feed-forward, backward over forward: found %.3f, expected about 2", ratio);
    CHECK_THAT(costs_total(&one) > formula && costs_total(&one) < 1.5 * formula,
               "all: found %.0f FLOPs, products without attention's pairs are %.0f", costs_total(&one), formula);
    /* attention(2 T) = 2 linear + 4 pairs, attention(T) = linear + pairs */
    double pairs = (two.forward[COST_ATTENTION] - 2 * one.forward[COST_ATTENTION]) / 2;
    double expected = 3.0 * LAYERS * SENTENCES * LENGTH_OF_ONE * LENGTH_OF_ONE * 2 * (D + D);
    CHECK_THAT(pairs >= expected && pairs < 1.02 * expected, "pairs of attention: found %.0f FLOPs, expected %.0f",
               pairs, expected);
    CHECK_NEAR(two.forward[COST_FEED_FORWARD] / one.forward[COST_FEED_FORWARD], 2, 1e-3);
    model_costs composed = costs_of("additive", "4", NULL, LENGTH_OF_ONE, NULL);
    CHECK_THAT(composed.forward[COST_ATTENTION] > one.forward[COST_ATTENTION],
               "additive attention: found %.0f FLOPs, scaled_dot has %.0f", composed.forward[COST_ATTENTION],
               one.forward[COST_ATTENTION]);
    CHECK_THAT(one.values > 0 && one.learned >= 4u * 4u * (size_t)one.parameters, "memory: found %zu and %zu bytes",
               one.values, one.learned);
    check_heads();
    check_separable();
    return test_end();
}
