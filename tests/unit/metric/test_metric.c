/* A metric's properties: direction, decimals, and how sentences add up, also for results that do not record this. */
#include "test.h"
#include "text/metric/metric.h"
#include <math.h>

static void test_better(void)
{
    const metric higher = {"BLEU", "%", 1, NULL}, lower = metric_perplexity, neither = {"depth", "", 0, NULL};
    CHECK_INT(metric_better(&higher, 2, 1), 1);
    CHECK_INT(metric_better(&higher, 1, 2), -1);
    CHECK_INT(metric_better(&lower, 2, 1), -1);
    CHECK_INT(metric_better(&lower, -1, 0), 1);
    CHECK_INT(metric_better(&neither, 2, 1), 0);
    CHECK_INT(metric_better(&higher, 2, 2), 0);
    CHECK_INT(metric_better(&lower, NAN, 2), 0);
    const metric *all[] = {&higher, &lower, &neither};
    for (size_t i = 0; i < LENGTH(all); i++)
        CHECK_INT(metric_direction(metric_direction_text(all[i])), all[i]->direction);
}

/* Each kind of aggregation is found by its recorded name; perplexities and other ratios differ only in their names. */
static void test_aggregations(void)
{
    for (int kind = AB_SUM_RATIO; kind <= AB_SUM_PERPLEXITY; kind++) {
        const aggregation *a = aggregation_of((ab_sum)kind);
        CHECK_TEXT(aggregation_recorded(a->name, "any", 0)->name, a->name);
        CHECK_INT(a->log_scale, kind == AB_SUM_PERPLEXITY);
    }
    CHECK(!aggregation_recorded("median", "any", 2));
    CHECK_TEXT(aggregation_recorded(NULL, "ppl", 2)->name, "perplexity"); /* results of older versions */
    CHECK_TEXT(aggregation_recorded(NULL, "accuracy", 2)->name, "ratio");
    CHECK_TEXT(aggregation_recorded(NULL, "F1", 3)->name, "F1");
    CHECK(!aggregation_recorded(NULL, "accuracy", 4));
    const double sums[] = {20, 10};
    CHECK_NEAR(metric_perplexity.sum->score(sums, NULL), exp(2), 1e-12);
    CHECK_NEAR(metric_token_accuracy.sum->score(sums, NULL), 200, 1e-12);
}

static void test_declared(void)
{
    ab_metric m = {.name = "errors", .unit = "%", .better = AB_LOWER, .sum = AB_SUM_RATIO};
    metric facts = metric_declared(&m);
    CHECK(facts.direction == -1 && same(facts.unit, "%") && !facts.sum);
    m.n_stats = 2;
    CHECK_TEXT(metric_declared(&m).sum->name, "ratio");
}

static void test_decimals(void)
{
    const metric errors = {"errors", "%", -1, NULL}, bits = {"bits_per_byte", "bits/byte", -1, NULL};
    CHECK_INT(metric_decimals(&metric_perplexity, 5.3), 2);
    CHECK_INT(metric_decimals(&errors, 12.3), 1);
    CHECK_INT(metric_decimals(&bits, 1.234), 3);
    CHECK_INT(metric_decimals(&bits, 0), 2);
}

int main(void)
{
    test_better();
    test_aggregations();
    test_declared();
    test_decimals();
    return test_end();
}
