/* ab_print prints copies of values and of their complete gradients, and changes nothing else. */
#include "tapes.h"
#include <string.h>

static params none;

/* y = x x + x, w = y y; the loss weighs w. y's gradient is one term, x's the sum of three. */
static ab_ctx *traced(bool prints, ab_t *x, ab_t *y, ab_t *loss)
{
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, true);
    int64_t d[4] = {1, 1, 2, 5};
    c->prints = prints;
    *x = input(c, 0, d);
    t_print(c, *x, "x");
    *y = t_binary(c, OP_ADD, t_binary(c, OP_MUL, *x, *x), *x);
    t_print(c, *y, "y");
    *loss = weighed(c, t_binary(c, OP_MUL, *y, *y));
    if (tape_backward(c, *loss) || tape_plan(c, NULL, NULL)) broken("%s", c->error.text);
    double v[10];
    for (size_t i = 0; i < LENGTH(v); i++) v[i] = hashed(1, i);
    tape_write(c, *x, v, sizeof v);
    CHECK_INT(run(c), 0);
    return c;
}

/* Returns the text that tape_print writes; the caller frees it. */
static char *said_of(const ab_ctx *c, const char *when)
{
    char *said = NULL;
    size_t n = 0;
    err e = {0};
    FILE *to = open_memstream(&said, &n);
    CHECK_INT(tape_print(c, when, to, &e), 0);
    fclose(to);
    return said;
}

static void test_values(void)
{
    ab_t x, y, loss;
    ab_ctx *c = traced(true, &x, &y, &loss);
    const printed *px = c->to_print, *py = px->next;
    CHECK(py && !py->next);
    for (size_t i = 0; i < 10; i++) {
        double v = hashed(1, i), w = hashed(77, i), f = v * v + v;
        CHECK_NEAR(data(c, px->copy)[i], v, 0);
        CHECK_NEAR(data(c, py->copy)[i], f, 1e-15);
        CHECK_NEAR(data(c, py->gradient)[i], 2 * f * w, 1e-14);
        CHECK_NEAR(data(c, px->gradient)[i], 2 * f * w * (2 * v + 1), 1e-14);
    }
    char *said = said_of(c, "training");
    CHECK_HAS(said, "training, x fp64 [2,5] (host:0): mean ");
    CHECK_HAS(said, "training, gradient of y: mean ");
    CHECK_HAS(said, ", 0 of 10 not finite; ");
    free(said);
    tape_free(c);
}

static void test_off(void)
{
    ab_t x, y, loss;
    ab_ctx *c = traced(false, &x, &y, &loss);
    CHECK(!c->to_print);
    tape_free(c);
}

/* -infinity is left out of the mean; ids are printed as integers. */
static void test_what_is_said(void)
{
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, false);
    c->prints = true;
    ab_t x = input(c, 0, (int64_t[4]){1, 1, 1, 3}), ids = t_ids(c, 3, (int32_t[]){7, 8, 9});
    t_print(c, x, "x"), t_print(c, ids, "ids");
    if (tape_plan(c, NULL, NULL)) broken("%s", c->error.text);
    tape_write(c, x, (double[]){-INFINITY, 1, 3}, 3 * sizeof(double));
    CHECK_INT(run(c), 0);
    char *said = said_of(c, "evaluation");
    CHECK_HAS(said, "evaluation, x fp64 [3] (host:0): mean 2, rms 2.2361, from 1 to 3, 1 of 3 not finite; -inf 1 3\n");
    CHECK_HAS(said, "ids int32 [3] (host:0): mean 8, rms 8.0416, from 7 to 9, 0 of 3 not finite; 7 8 9\n");
    free(said);
    tape_free(c);
}

int main(void)
{
    test_values();
    test_off();
    test_what_is_said();
    return test_end();
}
