/* Updates in tiles: when assignments take effect, and how vectors are reshaped if the last tile is shorter. */
#include "tensor/cpu/cpu.h"
#include "test.h"

enum { TILE = 64, COUNT = 2 * TILE + 10, GUARD = TILE, VECTORS = 4 };
static const double mark = -12345; /* value behind every vector, which no kernel may read or write */

typedef struct {
    ab_ctx *c;
    ab_t p, g, a, b; /* the vectors */
} update;
typedef void (*rule)(update *u);

static ab_t shaped(update *u, ab_t x, int64_t a, int64_t b, int64_t d, int64_t e)
{
    return t_reshape(u->c, x, (int64_t[4]){a, b, d, e});
}
static ab_t flat(update *u, ab_t x) { return shaped(u, x, 1, 1, 1, TILE); }

/* Runs a rule on vectors v; element i of vector k begins as k + i / 1000. */
static int run_rule(rule f, double v[VECTORS][COUNT + GUARD], err *e)
{
    params none = {0};
    update u = {.c = tape_new(&none, &cpu_backend, F64, false)};
    ab_t *vector[VECTORS] = {&u.p, &u.g, &u.a, &u.b};
    tiling t = {.n_vectors = VECTORS, .count = COUNT, .tile = TILE, .type = F64};
    for (int k = 0; k < VECTORS; k++) {
        *vector[k] = t_input(u.c, arena_printf(&u.c->memory, "v%d", k), F64, PHASE_STEP, 1, 1, 1, TILE);
        for (int i = 0; i < COUNT + GUARD; i++) v[k][i] = i < COUNT ? k + i * 1e-3 : mark;
        t.vector[k].id = vector[k]->id, t.vector[k].data = v[k];
    }
    f(&u);
    CHECK_INT(tape_plan(u.c, NULL, NULL), 0);
    run_options r = {0};
    CHECK_INT(tape_run_phase(u.c, &r, PHASE_CONST) || tape_run_phase(u.c, &r, PHASE_SETUP), 0);
    int rc = cpu_run_tiled(u.c, &t, &r);
    *e = u.c->error;
    tape_free(u.c);
    params_free(&none);
    return rc;
}

/* Expects element i of vector k to end as from[k] + times[k] * i / 1000. */
static void check_rule(const char *name, rule f, const double from[VECTORS], const double times[VECTORS])
{
    static double v[VECTORS][COUNT + GUARD];
    err e = {0};
    int failed = test_failed;
    CHECK_INT(run_rule(f, v, &e), 0);
    CHECK_TEXT(e.text, "");
    for (int k = 0; k < VECTORS; k++) {
        for (int i = 0; i < COUNT; i++) CHECK_NEAR(v[k][i], from[k] + times[k] * i * 1e-3, 1e-12);
        for (int i = COUNT; i < COUNT + GUARD; i++) CHECK_NEAR(v[k][i], mark, 0);
    }
    if (test_failed > failed) printf("^ %s\n", name);
}
#define NUMBERS(...) ((const double[VECTORS]){__VA_ARGS__})

/* ---- assignments: all happen at the end, and read old values ---- */

static void moves_on(update *u)
{
    t_assign(u->c, u->p, t_binary(u->c, OP_SUB, u->p, t_mul_scalar(u->c, u->g, 2)));
    t_assign(u->c, u->a, u->p);
    t_assign(u->c, u->b, u->a);
}
static void change_places(update *u)
{
    t_assign(u->c, u->a, flat(u, shaped(u, u->b, 1, TILE, 1, 1)));
    t_assign(u->c, u->b, u->a);
}
static void twice(update *u) /* if p is assigned twice, the last assignment counts */
{
    t_assign(u->c, u->p, u->a);
    t_assign(u->c, u->a, u->p);
    t_assign(u->c, u->p, u->b);
}

/* ---- axes ---- */

static void other_axes(update *u)
{
    ab_t p = shaped(u, u->p, 1, 1, TILE, 1), g = shaped(u, u->g, 1, 1, TILE, 1);
    t_assign(u->c, u->p, flat(u, t_binary(u->c, OP_ADD, p, t_mul_scalar(u->c, g, 10))));
    ab_t a = shaped(u, u->a, TILE, 1, 1, 1), b = shaped(u, u->b, TILE, 1, 1, 1);
    t_assign(u->c, a, t_binary(u->c, OP_ADD, a, t_mul_scalar(u->c, b, 100)));
    t_assign(u->c, u->b, flat(u, t_mul_scalar(u->c, t_transpose(u->c, shaped(u, u->b, 1, TILE, 1, 1), -1, -3), 2)));
}
static void square(update *u)
{
    ab_t p = shaped(u, u->p, 1, 1, 8, TILE / 8);
    t_assign(u->c, u->p, flat(u, t_mul_scalar(u->c, p, 2)));
}
static void table(update *u)
{
    ab_t sums = t_binary(u->c, OP_ADD, u->p, shaped(u, u->g, 1, 1, TILE, 1));
    t_assign(u->c, u->p, t_sum_to(u->c, sums, (int64_t[4]){1, 1, 1, TILE}));
}
static void half(update *u)
{
    ab_t front = t_slice(u->c, u->p, -1, 0, TILE / 2);
    t_assign(u->c, u->p, t_concat(u->c, front, front, -1));
}
static void check_refused(rule f, const char *words)
{
    static double v[VECTORS][COUNT + GUARD];
    err e = {0};
    CHECK_INT(run_rule(f, v, &e), -1);
    CHECK_HAS(e.text, words);
    for (int k = 0; k < VECTORS; k++) /* no element has changed */
        for (int i = 0; i < COUNT + GUARD; i++) CHECK_NEAR(v[k][i], i < COUNT ? k + i * 1e-3 : mark, 0);
}

int main(void)
{
    cpu_threads(1);
    check_rule("moves_on", moves_on, NUMBERS(-2, 1, 0, 2), NUMBERS(-1, 1, 1, 1));
    check_rule("change_places", change_places, NUMBERS(0, 1, 3, 2), NUMBERS(1, 1, 1, 1));
    check_rule("twice", twice, NUMBERS(3, 1, 0, 3), NUMBERS(1, 1, 1, 1));
    check_rule("other_axes", other_axes, NUMBERS(10, 1, 302, 6), NUMBERS(11, 1, 101, 2));
    check_refused(square, "update: MUL_SCALAR has shape [8,8], expected one number or 64 along one axis");
    check_refused(table, "update: ADD has shape [64,64], expected");
    check_refused(half, "update: SLICE has shape [32], expected");
    return test_end();
}
