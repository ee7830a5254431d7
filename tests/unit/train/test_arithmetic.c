/* The task arithmetic: its lines are read back and every sum is computed again; training and test share no pair of
 * numbers; an answer counts as right only as a whole. */
#include "opened_task.h"

enum { MOST = 64, P = 113 };

static int64_t value_of(const int32_t *digit, int64_t n, bool reversed)
{
    int64_t x = 0;
    for (int64_t i = 0; i < n; i++) x = 10 * x + digit[reversed ? n - 1 - i : i];
    return x;
}

static void test_addition(int digits, bool reversed)
{
    opened o;
    char message[256] = "";
    char *text = xprintf("kind=addition digits=%d reversed=%s train_examples=400 test_examples=200 short_part=0.5",
                         digits, reversed ? "true" : "false");
    CHECK_INT(open_with(&o, "arithmetic", text, message, sizeof message), 0);
    int64_t limit = 1, shorter[AB_SPLITS] = {0};
    for (int i = 0; i < digits; i++) limit *= 10;
    for (int s = 0; s < AB_SPLITS; s++) {
        CHECK_INT(o.t->count(o.self, (ab_split)s), s == AB_TRAIN ? 400 : 200);
        for (int64_t i = 0; i < o.t->count(o.self, (ab_split)s); i++) {
            int32_t in[MOST], label[MOST];
            ab_example x;
            o.t->get(o.self, (ab_split)s, i, &x);
            int64_t n = numbers(x.src, in), asked = 2 * digits + 1;
            CHECK_INT(n, 3 * digits + 2);
            CHECK_INT(numbers(x.tgt, label), n);
            for (int64_t k = 0; k < asked; k++) CHECK_INT(label[k], -1);
            /* the input after a label is that label */
            for (int64_t k = asked; k + 1 < n; k++) CHECK_INT(in[k + 1], label[k]);
            int64_t a = value_of(in, digits, false), b = value_of(in + digits + 1, digits, false);
            CHECK_INT(value_of(label + asked, digits + 1, reversed), a + b);
            shorter[s] += a < limit / 10 && b < limit / 10;
        }
    }
    CHECK_THAT(digits < 2 || shorter[AB_TRAIN] > 20, "%d short examples of 400", (int)shorter[AB_TRAIN]);
    CHECK_THAT(digits < 2 || shorter[AB_TEST] < 20, "%d short examples of 200 in test", (int)shorter[AB_TEST]);
    close_opened(&o);
    free(text);
}

static int64_t modular(const char *operation, int64_t a, int64_t b)
{
    if (same(operation, "add")) return (a + b) % P;
    if (same(operation, "subtract")) return (a - b + P) % P;
    if (same(operation, "multiply")) return a * b % P;
    for (int64_t q = 0; q < P; q++)
        if (q * b % P == a) return q;
    return -1;
}

static void test_modular(const char *operation)
{
    opened o;
    char message[256] = "", seen[P][P] = {0};
    char *text = xprintf("kind=modular operation=%s modulus=%d train_part=0.3 test_examples=4000", operation, P);
    CHECK_INT(open_with(&o, "arithmetic", text, message, sizeof message), 0);
    int64_t all = same(operation, "divide") ? P * (P - 1) : P * P, train = o.t->count(o.self, AB_TRAIN);
    CHECK_INT(train, (int64_t)(0.3 * (double)all + 0.5));
    CHECK_INT(o.t->count(o.self, AB_TEST), 4000);
    for (int s = 0; s < AB_SPLITS; s++)
        for (int64_t i = 0; i < o.t->count(o.self, (ab_split)s); i++) {
            int32_t in[MOST], label[MOST];
            ab_example x;
            o.t->get(o.self, (ab_split)s, i, &x);
            CHECK_INT(numbers(x.src, in), 3);
            CHECK_INT(numbers(x.tgt, label), 3);
            CHECK(label[0] < 0 && label[1] < 0 && in[2] < 0);
            CHECK_INT(label[2], modular(operation, in[0], in[1]));
            CHECK_THAT(!seen[in[0]][in[1]], "%d and %d occur twice", in[0], in[1]);
            seen[in[0]][in[1]] = 1;
        }
    close_opened(&o);
    free(text);
}

static void test_score(void)
{
    opened o;
    char message[256] = "";
    CHECK_INT(open_with(&o, "arithmetic", "kind=addition test_examples=4 train_examples=1", message, sizeof message),
              0);
    ab_likelihood x[] = {
        {.tokens = 11, .right = 11}, {.tokens = 11, .right = 10}, {.tokens = 11, .right = 11}, {11, 11, 0}};
    ab_metric m[2];
    CHECK_INT(o.t->score_likelihoods(o.self, AB_TEST, x, 4, m, 2, message, sizeof message), 1);
    CHECK_TEXT(m[0].name, "solved");
    CHECK_NEAR(m[0].value, 50, 0);
    close_opened(&o);
}

static void test_refused(void)
{
    opened o;
    char message[256] = "";
    CHECK_INT(open_with(&o, "arithmetic", "operation=divide modulus=91", message, sizeof message), -1);
    CHECK_HAS(message, "arithmetic.modulus = 91: expected a prime");
    close_opened(&o);
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    test_addition(10, true);
    test_addition(10, false);
    test_addition(1, true);
    test_addition(18, true);
    test_modular("add");
    test_modular("subtract");
    test_modular("multiply");
    test_modular("divide");
    test_score();
    test_refused();
    return test_end();
}
