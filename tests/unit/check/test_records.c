/* Values and losses that plugins record equal the values that they are computed from. Mixture of experts: training
 * equals evaluation if no expert is full, a full expert drops rows, and costs count only the experts that a row uses.
 * Mixture of depths: costs count only the tokens that may be chosen. */
#include "opened.h"
#include "passes.h"
#include "network/model/costs.h"
#include <string.h>

/* Opens a small model and runs one pass over the four sentences. */
static void open_both(model *m, pass *p, const char *feed_forward, const char *key, const char *value, bool training)
{
    open_model(m, &(pairing){.feed_forward = feed_forward, .key = key, .value = value});
    open_pass(m, p, training);
}

static double sum_of_rows(const pass *p)
{
    double sum = 0;
    for (int64_t i = 0; i < p->p.real_rows; i++) sum += pass_row(p, i);
    return sum;
}

static void check_recorded(void)
{
    model m;
    pass p;
    open_both(&m, &p, BUILD_DIR "/sabotage/records.so", NULL, NULL, true);
    double layers = (double)(m.cfg.layers_encoder + m.cfg.layers_decoder),
           added = 0.7 * layers * kept(&p, RECORDED "records.size");
    CHECK(kept(&p, RECORDED "records.size") > 0);
    CHECK(isfinite(kept(&p, RECORDED "records.hidden")));
    const node *several =
        /* mean of each number over the layers that log it; the layers log 3, 3 and 2 numbers */
        &p.c->v[tape_find(p.c, RECORDED "records.several").id];
    CHECK_INT(node_count(several), 3);
    static const double means[] = {7. / 3, 11. / 3, 4};
    for (int i = 0; i < 3; i++) CHECK_NEAR(((const double *)several->data)[i], means[i], 1e-12);
    CHECK_NEAR(kept(&p, "auxiliary"), added * (double)p.p.real_rows, 1e-9);
    CHECK_NEAR(pass_loss(&p), sum_of_rows(&p) + kept(&p, "auxiliary"), 1e-9);
    close_both(&m, &p);
    open_both(&m, &p, BUILD_DIR "/sabotage/records.so", NULL, NULL, false);
    /* in evaluation nothing is recorded */
    CHECK(isnan(kept(&p, RECORDED "records.size")) && isnan(kept(&p, "auxiliary")));
    close_both(&m, &p);
}

static void check_capacity(const char *capacity, bool drops)
{
    model m, n;
    pass training, plain;
    open_both(&m, &training, "moe", "moe.capacity", capacity, true);
    open_both(&n, &plain, "moe", "moe.capacity", capacity, false);
    double apart = fabs(sum_of_rows(&training) - sum_of_rows(&plain)),
           dropped = kept(&training, RECORDED "moe.dropped");
    printf("capacity %s: %.3g of the choices dropped, training and evaluation %.3g apart\n", capacity, dropped, apart);
    CHECK(drops ? dropped > 0.1 && dropped < 1 : fabs(dropped) < 1e-12);
    CHECK(drops ? apart > 1e-6 : apart < 1e-10);
    CHECK(kept(&training, RECORDED "moe.balance") >= 0.5);
    close_both(&m, &training);
    close_both(&n, &plain);
}

static double feed_forward_flops(const char *feed_forward, const char *key, const char *value)
{
    model m;
    pass p;
    err e = {0};
    model_costs costs;
    open_both(&m, &p, feed_forward, key, value, true);
    CHECK_INT(model_count_costs(
                  &m, &(model_shape){.batch = 8, .src_rows = 256, .tgt_rows = 256, .src_time = 32, .tgt_time = 32},
                  &costs, &e),
              0);
    CHECK_TEXT(e.text, "");
    close_both(&m, &p);
    return costs.forward[COST_FEED_FORWARD];
}

/* The cost is 1.25 times that of two of the 16 experts, and the gate's. If all experts counted, it would be 16 times
 * that of one expert. */
static void check_active(void)
{
    double one = feed_forward_flops("relu", NULL, NULL), four = feed_forward_flops("moe", NULL, NULL),
           sixteen = feed_forward_flops("moe", "moe.experts", "16");
    printf("feed-forward: relu %.4g FLOPs, two of 4 experts %.4g, two of 16 %.4g\n", one, four, sixteen);
    CHECK(four > 2.4 * one && sixteen < 1.6 * four);
}

/* The cost is that of a quarter of 256 rows, plus one row for each of 8 sentences, and the router's. */
static void check_skipped(void)
{
    double all = feed_forward_flops("relu", NULL, NULL),
           quarter = feed_forward_flops("mixture_of_depths", "mixture_of_depths.capacity", "0.25");
    printf("feed-forward: relu %.4g FLOPs, a quarter of the rows %.4g\n", all, quarter);
    CHECK(quarter > 72. / 256 * all && quarter < 0.45 * all);
}

int main(void)
{
    use_plugins();
    open_file(BUILD_DIR "/sabotage/records.so");
    check_recorded();
    check_capacity("64", false);
    check_capacity("0.5", true);
    check_active();
    check_skipped();
    return test_end();
}
