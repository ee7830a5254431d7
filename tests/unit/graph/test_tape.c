/* Errors of tape builders, learned values, and the rules of phases. */
#include "tapes.h"

static const int64_t four_six[4] = {1, 1, 4, 6}, two_three[4] = {1, 1, 2, 3};

typedef struct {
    const char *says[3];
    ab_t (*f)(ab_ctx *c, ab_t a, ab_t b); /* a is [4,6], b is [2,3] */
} refusal;

static ab_t bad_add(ab_ctx *c, ab_t a, ab_t b) { return t_binary(c, OP_ADD, a, b); }
static ab_t bad_product(ab_ctx *c, ab_t a, ab_t b) { return t_matmul(c, a, b, 0, 0); }
static ab_t bad_turned(ab_ctx *c, ab_t a, ab_t b) { return t_matmul(c, a, b, 1, 1); }
static ab_t bad_reshape(ab_ctx *c, ab_t a, ab_t b) { return (void)b, t_reshape(c, a, (int64_t[4]){1, 1, 5, 5}); }
static ab_t bad_join(ab_ctx *c, ab_t a, ab_t b) { return t_concat(c, a, b, -1); }
static ab_t bad_slice(ab_ctx *c, ab_t a, ab_t b) { return (void)b, t_slice(c, a, -1, 4, 3); }
static ab_t bad_axis(ab_ctx *c, ab_t a, ab_t b) { return (void)b, t_transpose(c, a, -1, -5); }
static ab_t bad_turn(ab_ctx *c, ab_t a, ab_t b) { return (void)a, t_rotate_half(c, b); }
static ab_t bad_sum(ab_ctx *c, ab_t a, ab_t b) { return (void)b, t_sum_to(c, a, two_three); }
static ab_t bad_linear(ab_ctx *c, ab_t a, ab_t b) { return t_linear(c, a, b, (ab_t){0}, 0, 0); }
static ab_t bad_norm(ab_ctx *c, ab_t a, ab_t b) { return t_norm(c, a, b, a, a, 0, 1e-6); }
static ab_t bad_ids(ab_ctx *c, ab_t a, ab_t b) { return t_embedding(c, a, b); }
static ab_t bad_numbers(ab_ctx *c, ab_t a, ab_t b)
{
    return (void)b, t_binary(c, OP_ADD, a, t_ids(c, 6, (int32_t[6]){0}));
}
static ab_t bad_pick(ab_ctx *c, ab_t a, ab_t b)
{
    (void)b;
    return t_gather(c, a,
                    t_clipped_relative_position(c, t_ids(c, 3, (int32_t[3]){0}), t_ids(c, 2, (int32_t[2]){0}), 2));
}
static ab_t bad_mask(ab_ctx *c, ab_t a, ab_t b)
{
    ab_t ids = t_ids(c, 3, (int32_t[3]){0});
    return (void)b, t_mask(c, a, ids, ids, t_ids(c, 1, (int32_t[1]){3}), 0);
}
static ab_t bad_map(ab_ctx *c, ab_t a, ab_t b) { return (void)b, t_map(c, a, (ab_fn)99); }
static ab_t bad_dropout(ab_ctx *c, ab_t a, ab_t b) { return (void)b, t_dropout(c, a, 1); }
static ab_t bad_heads(ab_ctx *c, ab_t a, ab_t b)
{
    return (void)b, t_heads(c, a, t_ids(c, 2, (int32_t[2]){0, 4}), 2, 2, 3, 4);
}

static const refusal refusals[] = {
    {{"ADD", "[4,6]", "[2,3]"}, bad_add},
    {{"matmul", "6 and 2", "[4,6] times [2,3]"}, bad_product},
    {{"matmul", "4 and 3", "[4,6]' times [2,3]'"}, bad_turned},
    {{"reshape", "[4,6]", "[5,5]"}, bad_reshape},
    {{"concat", "[4,6]", "[2,3]"}, bad_join},
    {{"slice", "3 elements from 4", "length 6"}, bad_slice},
    {{"swap", "axis -5"}, bad_axis},
    {{"rotate_half", "odd length, 3"}, bad_turn},
    {{"SUM_TO", "[4,6]", "[2,3]"}, bad_sum},
    {{"linear", "[4,6]", "[2,3]"}, bad_linear},
    {{"norm", "[2,3]", "[4,6]"}, bad_norm},
    {{"rows", "expected ids"}, bad_ids},
    {{"found ids", "ab_to_float"}, bad_numbers},
    {{"gather", "[4,6]", "[3,2]"}, bad_pick},
    {{"mask", "[4,6]", "3 queries and 3 keys"}, bad_mask},
    {{"unknown function number 99"}, bad_map},
    {{"dropout", "p = 1"}, bad_dropout},
    {{"heads", "columns 2 to 8", "6 columns"}, bad_heads},
};

static void check_refusals(void)
{
    for (size_t i = 0; i < LENGTH(refusals); i++) {
        params none = {0};
        ab_ctx *c = tape_new(&none, &cpu_backend, F64, true);
        c->file = "mine.c", c->line = 12;
        ab_t a = input(c, 0, four_six), b = input(c, 1, two_three);
        ab_t y = refusals[i].f(c, a, b);
        CHECK_INT(y.id, 0);
        CHECK(has_prefix(c->error.text, "mine.c:12: "));
        for (size_t k = 0; k < LENGTH(refusals[i].says) && refusals[i].says[k]; k++)
            CHECK_HAS(c->error.text, refusals[i].says[k]);
        /* later operations on the tape also return a failed tensor, and the first error message stays */
        char first[2048];
        snprintf(first, sizeof first, "%s", c->error.text);
        c->line = 13;
        y = t_softmax(c, t_binary(c, OP_MUL, t_mul_scalar(c, y, 2), a));
        CHECK_INT(y.id, 0);
        CHECK_INT(bad_reshape(c, a, b).id, 0);
        CHECK_TEXT(c->error.text, first);
        CHECK_INT(tape_backward(c, a), -1);
        CHECK_INT(tape_plan(c, NULL, NULL), -1);
        CHECK_TEXT(c->error.text, first);
        tape_free(c);
        params_free(&none);
    }
}

static void check_backward_refusals(void)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, true);
    CHECK_INT(tape_backward(c, input(c, 0, four_six)), -1);
    CHECK_HAS(c->error.text, "[4,6], not one element");
    tape_free(c);
    c = tape_new(&none, &cpu_backend, F64, true);
    CHECK_INT(run(c), -1);
    CHECK_HAS(c->error.text, "not planned");
    tape_free(c);
    c = tape_new(&none, &cpu_backend, F64, true);
    ab_t state = t_state(c, "cache", F64, 1, 1, 4, 6);
    t_keep(c, t_mul_scalar(c, state, 2), "y");
    CHECK_INT(tape_plan(c, NULL, NULL), -1);
    CHECK_HAS(c->error.text, "no memory was provided for state 'cache'");
    tape_free(c);
}

/* ---- learned values ---- */

static void two_params(params *s, bool other_order, uint64_t seed)
{
    ab_ctx *c = tape_new(s, &cpu_backend, F64, false);
    if (other_order) t_param(c, "between", (int64_t[4]){1, 1, 3, 7}, 1, 0), t_param(c, "b", two_three, -0.5, 0);
    t_param(c, "a", four_six, 0.25, 0);
    t_param(c, "b", two_three, -0.5, 0);
    t_param(c, "gain", (int64_t[4]){1, 1, 1, 5}, 0, 1);
    tape_free(c);
    params_alloc(s, F64, 2, seed, NULL);
}
static const double *value(const params *s, const char *name)
{
    return (const double *)s->value + params_find(s, name)->at;
}

static void check_first_values(void)
{
    params s = {0}, t = {0}, u = {0};
    two_params(&s, false, 5), two_params(&t, true, 5), two_params(&u, false, 6);
    /* initial values do not depend on the order in which parameters are made */
    CHECK(!memcmp(value(&s, "a"), value(&t, "a"), 24 * sizeof(double)));
    CHECK(!memcmp(value(&s, "b"), value(&t, "b"), 6 * sizeof(double)));
    CHECK(memcmp(value(&s, "a"), value(&u, "a"), 24 * sizeof(double))); /* initial values depend on the seed */
    CHECK(memcmp(value(&s, "b"), value(&u, "b"), 6 * sizeof(double)));
    double largest = 0;
    for (int i = 0; i < 24; i++) largest = fmax(largest, fabs(value(&s, "a")[i]));
    CHECK(largest <= 0.25 && largest > 0.15);
    for (int i = 0; i < 5; i++) CHECK_NEAR(value(&s, "gain")[i], 1, 0);
    CHECK_INT(params_count(&s), 24 + 6 + 5);
    CHECK_INT(params_count(&t), 24 + 6 + 5 + 21);
    for (size_t i = 0; i < s.n; i++) CHECK_INT(s.p[i].at % PARAM_ALIGN, 0);
    for (size_t i = 0; i < s.total; i++) CHECK_NEAR(((double *)s.slot[1])[i], 0, 0);
    CHECK(!s.slot[2]);
    params_free(&s), params_free(&t), params_free(&u);
}

static void check_names(void)
{
    params s = {0};
    two_params(&s, false, 5);
    ab_ctx *c = tape_new(&s, &cpu_backend, F64, false);
    ab_t a = t_param(c, "a", four_six, 0.25, 0), again = t_param(c, "a", four_six, 0.25, 0);
    CHECK_INT(a.id, again.id);
    CHECK_INT(t_param(c, "a", two_three, 0.25, 0).id, 0);
    CHECK_HAS(c->error.text, "'a' is requested with shape [2,3] but was created with [4,6]");
    tape_free(c);
    c = tape_new(&s, &cpu_backend, F64, false);
    CHECK_INT(t_param(c, "late", four_six, 1, 0).id, 0);
    CHECK_HAS(c->error.text, "'late' did not exist when the model was made");
    tape_free(c);
    params_free(&s);
}

/* A new gradient is written over the old one, at the address of the parameter's gradient; the gradient of an unread
 * parameter is 0. */
static void check_gradient_places(void)
{
    params s = {0};
    two_params(&s, false, 5);
    ab_ctx *c = tape_new(&s, &cpu_backend, F64, true);
    ab_t a = t_param(c, "a", four_six, 0.25, 0), b = t_param(c, "b", two_three, -0.5, 0);
    ab_t loss = t_binary(c, OP_ADD, weighed(c, t_mul_scalar(c, a, 3)), t_sum_to(c, b, (int64_t[4]){1, 1, 1, 1}));
    t_keep(c, loss, "loss");
    CHECK_INT(tape_backward(c, loss), 0);
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    const double *ga = (double *)s.grad + params_find(&s, "a")->at, *gb = (double *)s.grad + params_find(&s, "b")->at,
                 *gain = (double *)s.grad + params_find(&s, "gain")->at;
    for (int pass = 0; pass < 2; pass++) {
        CHECK_INT(run(c), 0);
        for (uint64_t i = 0; i < 24; i++) CHECK_NEAR(ga[i], 3 * hashed(77, i), 1e-15);
        for (int i = 0; i < 6; i++) CHECK_NEAR(gb[i], 1, 0);
        for (int i = 0; i < 5; i++) CHECK_NEAR(gain[i], 0, 0);
    }
    tape_free(c);
    params_free(&s);
}

/* A sum of two parameters gives both one gradient node: each parameter must find it at its own address. */
static void check_equal_gradients(void)
{
    params s = {0};
    ab_ctx *c = tape_new(&s, &cpu_backend, F64, true);
    t_param(c, "x", four_six, 1, 0), t_param(c, "y", four_six, 1, 0);
    params_alloc(&s, F64, 0, 1, NULL);
    ab_t loss = weighed(c, t_binary(c, OP_ADD, t_param(c, "x", four_six, 1, 0), t_param(c, "y", four_six, 1, 0)));
    CHECK_INT(tape_backward(c, loss), 0);
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    CHECK_INT(run(c), 0);
    for (uint64_t i = 0; i < 24; i++) {
        CHECK_NEAR(((double *)s.grad)[s.p[0].at + i], hashed(77, i), 0);
        CHECK_NEAR(((double *)s.grad)[s.p[1].at + i], hashed(77, i), 0);
    }
    tape_free(c);
    params_free(&s);
}

/* ---- states and phases ---- */

static void *one_state(void *self, const char *name, size_t bytes)
{
    CHECK_TEXT(name, "sum");
    CHECK(bytes >= 6 * sizeof(double));
    return self;
}

static void check_state(void)
{
    double memory[64] = {0};
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, false);
    ab_t x = input(c, 0, two_three), state = t_state(c, "sum", F64, 1, 1, 2, 3), next = t_binary(c, OP_ADD, state, x);
    t_state_write(c, state, next);
    t_keep(c, next, "next");
    CHECK_INT(t_state(c, "sum", F64, 1, 1, 2, 3).id, state.id);
    CHECK_INT(tape_plan(c, one_state, memory), 0);
    for (int pass = 1; pass <= 3; pass++) {
        for (int i = 0; i < 6; i++) data(c, x)[i] = i + 1;
        CHECK_INT(run(c), 0);
        for (int i = 0; i < 6; i++) CHECK_NEAR(memory[i], pass * (i + 1), 0);
    }
    tape_free(c);
}

static void check_phases(void)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, true);
    ab_t setup = t_input(c, "setup", F64, PHASE_SETUP, 1, 1, 2, 3), step = input(c, 0, two_three);
    ab_t fixed = t_map(c, t_const(c, (int64_t[4]){1, 1, 1, 1}, (double[]){4}), AB_SQRT),
         slow = t_mul_scalar(c, setup, 2);
    ab_t y = t_binary(c, OP_MUL, t_binary(c, OP_ADD, slow, step), fixed), noise = t_dropout(c, fixed, 0.5);
    t_keep(c, y, "y"), t_keep(c, noise, "noise");
    CHECK_INT(tape_at(c, fixed)->phase, PHASE_CONST);
    CHECK_INT(tape_at(c, slow)->phase, PHASE_SETUP);
    CHECK_INT(tape_at(c, y)->phase, PHASE_STEP);
    CHECK_INT(tape_at(c, noise)->phase, PHASE_STEP); /* dropout differs from step to step, even of a constant */
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    for (int i = 0; i < 6; i++) data(c, setup)[i] = i, data(c, step)[i] = 1;
    CHECK_INT(run(c), 0);
    for (int i = 0; i < 6; i++) CHECK_NEAR(data(c, y)[i], 2 * (2 * i + 1), 0);
    for (int i = 0; i < 6; i++) data(c, setup)[i] = 100, data(c, step)[i] = 3;
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_STEP}), 0);
    for (int i = 0; i < 6; i++) CHECK_NEAR(data(c, y)[i], 2 * (2 * i + 3), 0); /* values of earlier phases are kept */
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_SETUP}), 0);
    for (int i = 0; i < 6; i++) CHECK_NEAR(data(c, y)[i], 2 * (200 + 3), 0);
    tape_free(c);
}

int main(void)
{
    check_refusals();
    check_backward_refusals();
    check_first_values();
    check_names();
    check_gradient_places();
    check_equal_gradients();
    check_state();
    check_phases();
    return test_end();
}
