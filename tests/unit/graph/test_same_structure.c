/* test_same_structure.c - tape_same_structure is true for two batches' tapes if and only if all values that depend on
 * the batch are packed rows. */
#include "tensor/graph/tape.h"
#include "tapes.h"

enum { ROWS = 12, WIDTH = 6 };

typedef struct {
    ab_t x, offset, length; /* rows [ROWS, 3 WIDTH], offsets [B+1], lengths [B] */
    int64_t batch, time;
} place;

static ab_t attend(ab_ctx *c, const place *p, ab_t x)
{
    const attend_spec s = {{0, WIDTH, 2 * WIDTH}, 2, WIDTH / 2, WIDTH / 2, 0.5, 0.1, 1, p->time, p->time};
    return t_attend(c, x, x, x, p->offset, p->offset, &s);
}
static ab_t heads(ab_ctx *c, const place *p, ab_t x) { return t_heads(c, x, p->offset, 0, 2, WIDTH / 2, p->time); }
static ab_t one(ab_ctx *c, ab_t x) { return t_sum_to(c, x, (int64_t[4]){1, 1, 1, 1}); }
static ab_t constant(ab_ctx *c, double v) { return t_const(c, (int64_t[4]){1, 1, 1, 1}, &v); }

static ab_t packed(ab_ctx *c, const place *p) { return attend(c, p, p->x); }
static ab_t dead_values(ab_ctx *c, const place *p)
{
    ab_t y = attend(c, p, p->x);
    heads(c, p, y);
    return y;
}
static ab_t padded(ab_ctx *c, const place *p)
{
    return t_merge(c, t_map(c, heads(c, p, p->x), AB_TANH), p->offset, ROWS, 0, WIDTH);
}
static ab_t summed_heads(ab_ctx *c, const place *p)
{
    return t_binary(c, OP_ADD, attend(c, p, p->x), one(c, heads(c, p, p->x)));
}
static ab_t scaled_by_time(ab_ctx *c, const place *p)
{
    return t_mul_scalar(c, attend(c, p, p->x), 1 / (double)p->time);
}
static ab_t constant_of_time(ab_ctx *c, const place *p)
{
    return t_binary(c, OP_MUL, attend(c, p, p->x), constant(c, (double)p->time));
}
static ab_t equal_constants(ab_ctx *c, const place *p)
{
    return t_binary(c, OP_MUL, attend(c, p, p->x), constant(c, 3));
}
static ab_t column_by_time(ab_ctx *c, const place *p)
{
    return attend(c, p, t_binary(c, OP_ADD, p->x, t_slice(c, p->x, -1, p->time % 5, 1)));
}
static ab_t number_of_lengths(ab_ctx *c, const place *p)
{
    return t_binary(c, OP_ADD, attend(c, p, p->x), one(c, t_to_float(c, p->length)));
}
static ab_t longer_program(ab_ctx *c, const place *p)
{
    ab_t y = attend(c, p, p->x);
    for (int64_t i = 0; i < p->time; i++) y = t_map(c, y, AB_TANH);
    return y;
}
static ab_t order_by_time(ab_ctx *c, const place *p)
{
    ab_t a = t_map(c, attend(c, p, p->x), AB_SIN), b = t_map(c, attend(c, p, p->x), AB_SIN);
    return p->time % 2 ? t_binary(c, OP_SUB, a, b) : t_binary(c, OP_SUB, b, a);
}
static ab_t lower(ab_ctx *c, const ab_t *in, const void *a) { return (void)a, t_map(c, in[0], AB_ABS); }
static int never(const ab_run *r) { return (void)r, -1; }
static const ab_op called = {.name = "called", .n_in = 1, .reference = lower, .cpu = never};
static ab_t call_without(ab_ctx *c, const place *p)
{
    return t_call(c, &called, (ab_t[]){attend(c, p, p->x)}, NULL, 0);
}
static ab_t call_with_attributes(ab_ctx *c, const place *p)
{
    return t_call(c, &called, (ab_t[]){attend(c, p, p->x)}, &p->time, sizeof p->time);
}

static const struct {
    const char *name;
    ab_t (*f)(ab_ctx *c, const place *p);
    bool alike;
} cases[] = {
    {"packed rows", packed, true},
    {"padded values that nobody reads", dead_values, true},
    {"equal constants", equal_constants, true},
    {"a call without attributes", call_without, true},
    {"padded values", padded, false},
    {"padded values, summed", summed_heads, false},
    {"a factor of the time", scaled_by_time, false},
    {"a constant of the time", constant_of_time, false},
    {"a column by the time", column_by_time, false},
    {"lengths as numbers", number_of_lengths, false},
    {"more operations for more time", longer_program, false},
    {"inputs in another order", order_by_time, false},
    {"a call with attributes", call_with_attributes, false},
};

static ab_ctx *traced(params *s, ab_t (*f)(ab_ctx *c, const place *p), int64_t batch, int64_t time, bool training)
{
    ab_ctx *c = tape_new(s, &cpu_backend, F64, training);
    place p = {.batch = batch, .time = time};
    ab_t in = input(c, 0, (int64_t[4]){1, 1, ROWS, WIDTH}),
         w = t_param(c, "w", (int64_t[4]){1, 1, WIDTH, 3 * WIDTH}, 0.5, 0);
    p.offset = t_input(c, "offset", I32, PHASE_STEP, 1, 1, 1, batch + 1);
    p.length = t_input(c, "length", I32, PHASE_STEP, 1, 1, 1, batch);
    p.x = t_linear(c, in, w, (ab_t){0}, 0, 0);
    ab_t loss = one(c, f(c, &p));
    t_keep(c, loss, "loss");
    if (training) tape_backward(c, loss);
    CHECK_TEXT(c->error.text, "");
    return c;
}

static void check(size_t k, bool training, int64_t batch, int64_t time, bool alike)
{
    params s = {0};
    ab_ctx *a = traced(&s, cases[k].f, 3, 5, training), *b = traced(&s, cases[k].f, batch, time, training);
    bool there = tape_same_structure(a, b), back = tape_same_structure(b, a);
    if (there != alike || back != alike)
        printf("%s, %s, %lld sentences of %lld:\n", cases[k].name, training ? "training" : "evaluation",
               (long long)batch, (long long)time);
    CHECK_INT(there, alike);
    CHECK_INT(back, alike);
    tape_free(a);
    tape_free(b);
    params_free(&s);
}

/* A tape of the same structure, with more empty sentences at the end, computes the same numbers. */
static void check_numbers(void)
{
    params s = {0};
    double loss[2];
    for (int k = 0; k < 2; k++) {
        ab_ctx *c = traced(&s, packed, k ? 9 : 3, k ? 40 : 5, true);
        params_alloc(&s, F64, 0, 1, &cpu_backend);
        CHECK_INT(tape_plan(c, NULL, NULL), 0);
        int32_t offset[10] = {0, 4, 9, ROWS};
        for (int i = 4; i < 10; i++) offset[i] = ROWS;
        for (int i = 0; i < ROWS * WIDTH; i++) data(c, tape_find(c, "in0"))[i] = hashed(1, (uint64_t)i);
        tape_set(c, "offset", offset);
        CHECK_INT(run(c), 0);
        loss[k] = data(c, tape_find(c, "loss"))[0];
        tape_free(c);
        params_free(&s);
        s = (params){0};
    }
    CHECK_NEAR(loss[1], loss[0], 0);
}

int main(void)
{
    for (size_t k = 0; k < LENGTH(cases); k++)
        for (int training = 0; training < 2; training++) {
            check(k, training, 3, 5, cases[k].f != call_with_attributes); /* nothing differs */
            check(k, training, 6, 12, cases[k].alike);
            check(k, training, 2, 8, cases[k].alike);
        }
    check_numbers();
    return test_end();
}
