/* Memory plans of random tapes. Checks addresses: a kernel that reads a value finds the bytes that the value's own
 * kernel wrote. Checks results: they stay the same if all memory begins as NaN, and if no memory is reused. */
#include "tapes.h"

enum { VALUES = 45, INPUTS = 5, WEIGHTS = 3 };

/* ---- random tapes ---- */

static const int64_t shapes[][4] = {{2, 3, 4, 6}, {1, 3, 4, 6}, {1, 1, 4, 6},
                                    {1, 1, 1, 6}, {2, 3, 4, 1}, {1, 1, 24, 6}};
static uint64_t below(rng *r, uint64_t n) { return rng_below(r, n); }

static ab_t to_shape(ab_ctx *c, ab_t x, const int64_t d[4])
{
    int64_t smaller[4];
    for (int i = 0; i < 4; i++) smaller[i] = tape_at(c, x)->dim[i] == d[i] ? d[i] : 1;
    return t_broadcast_to(c, t_sum_to(c, x, smaller), d);
}
static ab_t as_rows(ab_ctx *c, ab_t x)
{
    const int64_t *d = tape_at(c, x)->dim;
    return t_reshape(c, x, (int64_t[4]){1, 1, d[0] * d[1] * d[2], d[3]});
}

static ab_t next_value(ab_ctx *c, rng *r, const ab_t *pool, uint64_t n, ab_t w)
{
    ab_t a = pool[n < 8 || below(r, 3) == 0 ? below(r, n) : n - 1 - below(r, 6)], b = pool[below(r, n)];
    int64_t d[4];
    memcpy(d, tape_at(c, a)->dim, sizeof d);
    switch (below(r, 13)) {
    case 0: return t_binary(c, OP_ADD, a, to_shape(c, b, d));
    case 1: return t_binary(c, OP_MUL, a, to_shape(c, b, d));
    case 2: return t_binary(c, OP_SUB, to_shape(c, b, d), a);
    case 3: return t_map(c, a, AB_TANH);
    case 4: return t_mul_scalar(c, a, 0.9);
    case 5: return t_softmax(c, a);
    case 6: return t_dropout(c, a, 0.2);
    case 7: return t_transpose(c, t_map(c, t_transpose(c, a, -1, -2), AB_SIN), -1, -2);
    case 8: return t_reshape(c, t_add_scalar(c, as_rows(c, a), 0.1), d);
    case 9:
        return d[3] == 6 ? t_reshape(c, t_linear(c, as_rows(c, a), w, (ab_t){0}, (int)below(r, 2), (int)below(r, 2)), d)
                         : t_add_scalar(c, a, 1);
    case 10:
        return d[3] == 6 ? t_concat(c, t_slice(c, a, -1, 3, 3), t_slice(c, a, -1, 0, 3), -1) : t_mul_scalar(c, a, 2);
    case 11: return d[3] == 6 ? t_rotate_half(c, a) : t_map(c, a, AB_SQUARE);
    default:
        return d[3] == 6 ? t_dropout_add(c, as_rows(c, a), as_rows(c, to_shape(c, b, d)), 0.1)
                         : t_map(c, a, AB_SIGMOID);
    }
}

/* A random tape with inputs of all phases, parameters, values, a loss and its gradient. */
static ab_ctx *random_tape(params *s, uint64_t seed)
{
    rng r = rng_seed(seed, 1);
    ab_ctx *c = tape_new(s, &cpu_backend, F64, true);
    ab_t pool[VALUES], w = t_param(c, "w", (int64_t[4]){1, 1, 6, 6}, 0.5, 0);
    uint64_t n = 0;
    for (int i = 0; i < INPUTS; i++) {
        const int64_t *d = shapes[i ? below(&r, LENGTH(shapes)) : 0];
        phase ph = i < 2 ? PHASE_STEP : (phase)below(&r, 3);
        pool[n] = t_input(c, arena_printf(&c->memory, "in%d", i), F64, ph, d[0], d[1], d[2], d[3]);
        tape_at(c, pool[n++])->needs = below(&r, 2);
    }
    for (int i = 0; i < WEIGHTS; i++) {
        const int64_t *d = shapes[below(&r, LENGTH(shapes))];
        ab_t a = t_param(c, arena_printf(&c->memory, "a%d", i), d, 0.5, 0),
             b = t_param(c, arena_printf(&c->memory, "b%d", i), d, 0.5, 0);
        pool[n++] = t_binary(c, OP_SUB, a, b); /* the gradient of b is computed from the gradient of a */
    }
    while (n < VALUES) pool[n] = next_value(c, &r, pool, n, w), n++;
    ab_t loss = weighed(c, pool[0]);
    for (uint64_t i = n - 12; i < n; i++) loss = t_binary(c, OP_ADD, loss, weighed(c, pool[i]));
    t_keep(c, pool[20], "kept");
    t_keep(c, loss, "loss");
    if (!s->value) params_alloc(s, F64, 0, 1, NULL);
    CHECK_INT(tape_backward(c, loss), 0);
    for (int i = 0; i < INPUTS; i++)
        if (c->grad[pool[i].id])
            t_keep(c, t_mul_scalar(c, (ab_t){c->grad[pool[i].id]}, 0.5), arena_printf(&c->memory, "d%d", i));
    return c;
}

/* ---- reads and writes by address ---- */

typedef struct {
    const char *from, *to;
} span;
static span span_of(const node *v)
{
    const char *p = v->data;
    return (span){p, p ? p + (size_t)node_count(v) * dtype_size(v->type) : p};
}
static bool overlap(span a, span b) { return a.from && b.from && a.from < b.to && b.from < a.to; }

static int32_t content(const ab_ctx *c, int32_t i) /* the node whose kernel writes the memory that node i names */
{
    while (c->v[i].op == OP_RESHAPE) i = c->v[i].in[0];
    return i;
}
static int32_t writer(const ab_ctx *c, int32_t i) { return c->v[i].op == OP_PART ? c->v[i].in[0] : i; }
static bool writes(const node *v) { return v->live && v->data && v->op > OP_STATE && v->op != OP_RESHAPE; }

static bool may_share_first(op o)
{
    switch (o) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_MUL_SCALAR:
    case OP_ADD_SCALAR:
    case OP_MAP:
    case OP_DROPOUT:
    case OP_RELU_BACK:
    case OP_DROPOUT_ADD:
    case OP_SOFTMAX: return true;
    default: return false;
    }
}

/* Does a kernel overwrite value u after it was written and before node j reads it? If u is of an earlier phase than j:
 * or does a kernel of the phases that run again overwrite u? */
static void check_read(const ab_ctx *c, int32_t u, int32_t j)
{
    span s = span_of(&c->v[u]);
    for (int32_t i = 1; i < c->n; i++) {
        const node *v = &c->v[i];
        if (i == u || !writes(v) || !overlap(span_of(v), s)) continue;
        int32_t at = writer(c, i);
        bool between = at > writer(c, u) && at < j,
             rerun = j < c->n && c->v[u].phase < c->v[j].phase && v->phase > c->v[u].phase;
        if (between || rerun) {
            CHECK(!"a value is overwritten before it is read");
            printf("  %s %d reads %s %d, over which %s %d was written\n", j < c->n ? op_names[c->v[j].op] : "the end",
                   (int)j, op_names[c->v[u].op], (int)u, op_names[v->op], (int)i);
        }
    }
}

/* Checks that a kernel writes over its inputs only where op.h allows it. */
static void check_own_inputs(const ab_ctx *c, int32_t j)
{
    const node *v = &c->v[j];
    for (int o = 0; o < v->n_out; o++)
        for (int k = 0; k < v->n_in; k++) {
            span out = span_of(&c->v[j + o]), in = span_of(&c->v[v->in[k]]);
            if (!v->in[k] || !overlap(out, in)) continue;
            bool exactly = out.from == in.from && out.to == in.to;
            span first = span_of(&c->v[v->in[0]]); /* if both inputs are the same value, it may be written over */
            bool allowed =
                exactly && ((in.from == first.from && may_share_first(v->op)) || (k == 2 && v->op == OP_LINEAR_DX));
            if (!allowed) {
                CHECK(!"a kernel writes over its own input");
                printf("  %s %d over input %d\n", op_names[v->op], (int)j, k);
            }
        }
}

static void check_addresses(const ab_ctx *c)
{
    for (int32_t j = 1; j < c->n; j++) {
        const node *v = &c->v[j];
        if (v->live && v->name) check_read(c, content(c, j), c->n);
        if (v->op == OP_PARAM && c->grad[j]) check_read(c, content(c, c->grad[j]), c->n);
        if (!writes(v) || v->op == OP_PART) continue;
        check_own_inputs(c, j);
        for (int k = 0; k < v->n_in; k++)
            if (v->in[k]) check_read(c, content(c, v->in[k]), j);
    }
    for (int32_t i = 1; i < c->n; i++)
        if (writes(&c->v[i])) {
            span s = span_of(&c->v[i]);
            bool arena = s.from >= c->buffer && s.to <= c->buffer + c->buffer_size;
            bool gradient = s.from >= (char *)c->params->grad &&
                            s.to <= (char *)c->params->grad + c->params->total * sizeof(double);
            CHECK(arena || gradient);
            CHECK_INT((uintptr_t)s.from % 64 * arena, 0);
        }
}

/* ---- by running ---- */

static void put_inputs(ab_ctx *c)
{
    for (int i = 0; i < INPUTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "in%d", i);
        ab_t x = tape_find(c, name);
        for (int64_t k = 0; data(c, x) && k < node_count(tape_at(c, x)); k++)
            data(c, x)[k] = hashed((uint64_t)i, (uint64_t)k);
    }
}

/* Returns the kept values and the parameters' gradients after a run; the caller frees the array. */
static double *results(ab_ctx *c, size_t *n)
{
    static const char *const names[] = {"kept", "loss", "d0", "d1", "d2", "d3", "d4"};
    size_t cap = 0;
    double *all = NULL;
    *n = 0;
    for (size_t i = 0; i < LENGTH(names); i++) {
        ab_t x = tape_find(c, names[i]);
        if (!x.id) continue;
        size_t count = (size_t)node_count(tape_at(c, x));
        all = grow(all, &cap, *n + count, sizeof *all);
        memcpy(all + *n, data(c, x), count * sizeof *all);
        *n += count;
    }
    all = grow(all, &cap, *n + c->params->total, sizeof *all);
    memcpy(all + *n, c->params->grad, c->params->total * sizeof *all);
    *n += c->params->total;
    return all;
}

static void poison(ab_ctx *c)
{
    memset(c->buffer, 0xff, c->buffer_size);   /* makes every double NaN */
    for (int32_t i = 1; i < c->forward_n; i++) /* the gradient of an unread parameter stays 0 */
        if (c->v[i].op == OP_PARAM && c->grad[i])
            memset((double *)c->params->grad + c->params->p[c->v[i].param].at, 0xff,
                   (size_t)node_count(&c->v[i]) * sizeof(double));
    put_inputs(c);
}

static void check_same(const double *a, size_t n, ab_ctx *c, const char *what)
{
    size_t m;
    double *b = results(c, &m);
    CHECK_INT(m, n);
    bool equal = m == n && !memcmp(a, b, n * sizeof *a);
    if (!equal) printf("%s\n", what);
    CHECK(equal);
    free(b);
}

static void check_tape(uint64_t seed)
{
    params s = {0};
    ab_ctx *c = random_tape(&s, seed);
    size_t n;
    int failed = test_failed;
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    CHECK(c->buffer_size < c->naive_size);
    check_addresses(c);
    memset(c->buffer, 0, c->buffer_size);
    memset(s.grad, 0, s.total * sizeof(double));
    put_inputs(c);
    CHECK_INT(run(c), 0);
    double *first = results(c, &n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(first[i])) CHECK(!"results are finite");
    CHECK_INT(run(c), 0);
    check_same(first, n, c, "a second run differs");
    CHECK_INT(tape_run(c, &(run_options){.seed = 3, .step = 1, .from = PHASE_STEP}), 0);
    check_same(first, n, c, "a run of the last phase only differs");
    poison(c);
    CHECK_INT(run(c), 0);
    check_same(first, n, c, "a poisoned arena shows");
    tape_free(c);
    c = random_tape(&s, seed); /* makes this tape again, without reuse of memory */
    for (int32_t i = 1; i < c->n; i++) c->v[i].live |= c->v[i].op > OP_PART;
    for (int32_t i = 1; i < c->n; i++)
        if (!c->v[i].name && c->v[i].op > OP_PART && c->v[i].op != OP_RESHAPE) c->v[i].name = "all";
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    put_inputs(c);
    CHECK_INT(run(c), 0);
    check_same(first, n, c, "without reuse of memory the results differ");
    if (test_failed > failed) printf("^ tape %d\n", (int)seed);
    free(first);
    tape_free(c);
    params_free(&s);
}

/* Two tapes share an arena. The larger one makes it grow, before and after the smaller one is planned. */
static void check_shared_arena(void)
{
    params s = {0}, t = {0};
    workspace space = {0};
    ab_ctx *a = random_tape(&s, 900), *b = random_tape(&t, 901);
    a->shared = b->shared = &space;
    CHECK_INT(tape_plan(a, NULL, NULL), 0);
    put_inputs(a);
    CHECK_INT(run(a), 0);
    size_t n;
    double *first = results(a, &n);
    tape_free(a);
    CHECK_INT(tape_plan(b, NULL, NULL), 0);
    put_inputs(b);
    CHECK_INT(run(b), 0);
    tape_free(b);
    a = random_tape(&s, 900);
    a->shared = &space;
    CHECK_INT(tape_plan(a, NULL, NULL), 0);
    put_inputs(a);
    CHECK_INT(run(a), 0);
    check_same(first, n, a, "another tape in the same arena shows");
    free(first);
    tape_free(a);
    workspace_free(&space, &cpu_backend);
    params_free(&s);
    params_free(&t);
}

/* ---- work in place ---- */

static void check_in_place(void)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, false);
    const int64_t d[4] = {1, 1, 4, 8};
    ab_t x = input(c, 0, d), a = t_mul_scalar(c, x, 2), b = t_map(c, a, AB_TANH), s = t_binary(c, OP_ADD, b, x);
    ab_t kept = t_add_scalar(c, s, 1), after = t_mul_scalar(c, kept, 3), last = t_binary(c, OP_MUL, after, kept);
    t_keep(c, kept, "kept");
    t_keep(c, last, "last");
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    CHECK(data(c, a) != data(c, x)); /* an input is not overwritten */
    CHECK(data(c, b) == data(c, a)); /* b is the only reader of a */
    CHECK(data(c, s) == data(c, b));
    CHECK(data(c, after) != data(c, kept)); /* a kept value is not overwritten */
    for (int64_t i = 0; i < 32; i++) data(c, x)[i] = hashed(1, (uint64_t)i);
    CHECK_INT(run(c), 0);
    for (int64_t i = 0; i < 32; i++) {
        double u = hashed(1, (uint64_t)i), k = tanh(2 * u) + u + 1;
        CHECK_NEAR(data(c, x)[i], u, 0);
        CHECK_NEAR(data(c, kept)[i], k, 1e-15);
        CHECK_NEAR(data(c, last)[i], 3 * k * k, 1e-14);
    }
    tape_free(c);
    params_free(&none);
}

/* Values that nothing reads are neither computed nor given memory. */
static void check_dead(void)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, false);
    const int64_t d[4] = {1, 1, 4, 8};
    ab_t x = input(c, 0, d), unread = input(c, 1, d), dead = t_map(c, t_map(c, x, AB_EXP), AB_LOG),
         y = t_mul_scalar(c, x, 2);
    t_keep(c, y, "y");
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    CHECK(!tape_at(c, dead)->live && !data(c, dead));
    CHECK(!tape_at(c, unread)->live && !data(c, unread));
    CHECK_INT(c->buffer_size, 2 * 4 * 8 * sizeof(double));
    tape_free(c);
    params_free(&none);
}

static void *some_state(void *self, const char *name, size_t bytes) { return (void)name, (void)bytes, self; }

/* In decoding, a product that only a norm reads runs together with the norm. The product's inputs must live until then:
 * the norm's result must not reuse their memory. */
static void check_product_and_norm(void)
{
    enum { ALONE, READ_TWICE, NAMED, NOT_ADDED, OF_STATE, NO_STATE, TRAINING, OTHER_BACKEND, WAYS };
    static const char *const ways[] = {"alone",      "read twice", "named",    "not added",
                                       "of a state", "no state",   "training", "another backend"};
    static double memory[4 * 8];
    const int64_t d[4] = {1, 1, 4, 8}, one[4] = {1, 1, 1, 8};
    for (int way = 0; way < WAYS; way++) {
        backend on = cpu_backend;
        on.joins_norms = way != OTHER_BACKEND;
        params some = {0};
        ab_ctx *c = tape_new(&some, &on, F64, false);
        c->batch_invariant = way != TRAINING;
        ab_t x = input(c, 0, d), h = t_mul_scalar(c, x, 2), state = t_state(c, "state", F64, 1, 1, 4, 8);
        ab_t w = t_param(c, "w", (int64_t[4]){1, 1, 8, 8}, 0.5, 0), gain = t_param(c, "gain", one, 0, 1);
        ab_t y = t_linear(c, way == OF_STATE ? state : h, w, (ab_t){0}, 0, 0);
        ab_t z = t_norm(c, way == NOT_ADDED ? y : x, way == NOT_ADDED ? (ab_t){0} : y, gain, gain, 0, 1e-6);
        t_keep(c, t_mul_scalar(c, z, 3), "z");
        if (way == READ_TWICE) t_keep(c, t_mul_scalar(c, y, 3), "also");
        if (way == NAMED) t_keep(c, y, "y");
        if (way != NO_STATE) t_keep(c, t_mul_scalar(c, state, 3), "from a state");
        params_alloc(&some, F64, 0, 1, NULL);
        CHECK_INT(tape_plan(c, some_state, memory), 0);
        bool joined = tape_at(c, y)->waits, same_place = data(c, h) == data(c, z);
        CHECK_THAT(joined == (way == ALONE), "%s: the product runs %s the norm", ways[way], joined ? "with" : "before");
        CHECK_INT(tape_at(c, z)->product, joined ? y.id : 0);
        CHECK_INT(tape_is_call(tape_at(c, y)), !joined);
        CHECK_THAT(!joined || !same_place, "%s: the norm's result is where the product's rows are", ways[way]);
        CHECK_THAT(way != OTHER_BACKEND || same_place, "the rows of a product that runs before the norm are kept");
        tape_free(c);
        params_free(&some);
    }
}

int main(void)
{
    cpu_threads(1);
    check_product_and_norm();
    for (uint64_t seed = 1; seed <= 60; seed++) check_tape(seed);
    check_shared_arena();
    check_in_place();
    check_dead();
    return test_end();
}
