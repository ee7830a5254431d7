/* test_optim.c - optimizers' updates and sums over flat vectors: the CUDA backend against the CPU's. */
#include "tensor/cuda/optim.h"
#include "shim_test.h"

enum { TILE = 64, STEPS = 5, SLOTS = 4, VECTORS = 2 + SLOTS };

/* A minimal backend: runs tapes of elementwise operations in device memory. */
static int copy_out(void *to, const void *from, size_t bytes, err *e)
{
    return launched(gpu_copy_out(to, from, bytes), e);
}
static const backend on_gpu = {.name = "gpu",
                               .kernels = {[OP_ADD] = cuda_ADD,
                                           [OP_SUB] = cuda_SUB,
                                           [OP_MUL] = cuda_MUL,
                                           [OP_DIV] = cuda_DIV,
                                           [OP_MINIMUM] = cuda_MINIMUM,
                                           [OP_LESS_THAN] = cuda_LESS_THAN,
                                           [OP_MUL_SCALAR] = cuda_MUL_SCALAR,
                                           [OP_ADD_SCALAR] = cuda_ADD_SCALAR,
                                           [OP_MAP] = cuda_MAP,
                                           [OP_MAP_BACK] = cuda_MAP_BACK,
                                           [OP_CAST] = cuda_CAST,
                                           [OP_SUM_TO] = cuda_SUM_TO,
                                           [OP_BROADCAST_TO] = cuda_BROADCAST_TO,
                                           [OP_ASSIGN] = cuda_ASSIGN},
                               .alloc = gpu_alloc,
                               .release = gpu_release,
                               .copy_in = gpu_copy_in,
                               .copy_out = copy_out,
                               .copy = gpu_copy,
                               .zero = gpu_zero,
                               .run_tiled = cuda_run_tiled};

typedef struct { /* an update's inputs */
    ab_ctx *c;
    ab_t p, g, slot[SLOTS], lr, step;
} given;
typedef void (*update)(const given *u);

/* ---- updates ---- */

static ab_t add(const given *u, ab_t a, ab_t b) { return t_binary(u->c, OP_ADD, a, b); }
static ab_t mul(const given *u, ab_t a, ab_t b) { return t_binary(u->c, OP_MUL, a, b); }
static ab_t quotient(const given *u, ab_t a, ab_t b) { return t_binary(u->c, OP_DIV, a, b); }
static ab_t between(const given *u, ab_t m, ab_t x, double beta)
{
    return add(u, t_mul_scalar(u->c, m, beta), t_mul_scalar(u->c, x, 1 - beta));
}
static void move(const given *u, ab_t change)
{
    t_assign(u->c, u->p, t_binary(u->c, OP_SUB, u->p, mul(u, change, u->lr)));
}

static ab_t one_minus_power(const given *u, double beta)
{
    return t_add_scalar(u->c, t_mul_scalar(u->c, t_map(u->c, t_mul_scalar(u->c, u->step, log(beta)), AB_EXP), -1), 1);
}
static ab_t adam_change(const given *u, double beta2)
{
    ab_t m = between(u, u->slot[0], u->g, 0.9), v = between(u, u->slot[1], t_map(u->c, u->g, AB_SQUARE), beta2);
    t_assign(u->c, u->slot[0], m);
    t_assign(u->c, u->slot[1], v);
    ab_t root = t_map(u->c, quotient(u, v, one_minus_power(u, beta2)), AB_SQRT);
    return quotient(u, quotient(u, m, one_minus_power(u, 0.9)), t_add_scalar(u->c, root, 1e-9));
}
static void adam(const given *u) { move(u, adam_change(u, 0.98)); }
static void adamw(const given *u) { move(u, add(u, adam_change(u, 0.999), t_mul_scalar(u->c, u->p, 0.01))); }
static void sgd(const given *u)
{
    ab_t v = add(u, t_mul_scalar(u->c, u->slot[0], 0.9), u->g);
    t_assign(u->c, u->slot[0], v);
    move(u, add(u, u->g, t_mul_scalar(u->c, v, 0.9)));
}
static void lion(const given *u)
{
    ab_t change = add(u, t_map(u->c, between(u, u->slot[0], u->g, 0.9), AB_SIGN), t_mul_scalar(u->c, u->p, 0.1));
    t_assign(u->c, u->slot[0], between(u, u->slot[0], u->g, 0.99));
    move(u, change);
}

/* Uses every operation and function, other axes, and scalars. */
static void everything(const given *u)
{
    ab_ctx *c = u->c;
    ab_t x = t_map(c, t_binary(c, OP_SUB, u->g, u->p), AB_TANH), sum = x;
    for (int f = AB_EXP; f <= AB_FLOOR; f++) {
        bool positive = f == AB_LOG || f == AB_SQRT || f == AB_RECIP;
        ab_t in = positive ? t_add_scalar(c, t_map(c, x, AB_ABS), 0.5) : x, y = t_map(c, in, (ab_fn)f);
        ab_t back = tape_push(c, OP_MAP_BACK, F32, (int64_t[4]){1, 1, 1, TILE}, 3, (ab_t[]){in, y, u->g},
                              &(attr){.MAP = {.function = f}});
        sum = add(u, sum, add(u, t_mul_scalar(c, y, 0.1), t_mul_scalar(c, back, 0.1)));
    }
    ab_t least = t_binary(c, OP_MINIMUM, t_reshape(c, sum, (int64_t[4]){1, 1, 1, TILE}), u->slot[2]);
    ab_t less = t_binary(c, OP_LESS_THAN, u->p, t_const(c, (int64_t[4]){1, 1, 1, 1}, (double[]){0.25}));
    ab_t half = t_add_scalar(c, mul(u, u->lr, u->step), 0.5); /* a scalar, computed in the setup phase */
    ab_t repeated = t_broadcast_to(c, half, (int64_t[4]){1, 1, 1, TILE});
    t_assign(c, u->slot[0], quotient(u, least, add(u, t_map(c, u->p, AB_SQUARE), half)));
    t_assign(c, u->slot[1], t_binary(c, OP_SUB, half, mul(u, less, repeated)));
    t_assign(c, u->slot[2], u->slot[3]); /* swaps slots 2 and 3, with the next statement */
    t_assign(c, u->slot[3],
             t_reshape(c, t_reshape(c, u->slot[2], (int64_t[4]){1, 1, TILE, 1}), (int64_t[4]){1, 1, 1, TILE}));
    t_assign(c, u->p, t_map(c, sum, AB_TANH));
}
static void same_value_twice(const given *u)
{
    ab_t v = add(u, u->p, u->g);
    t_assign(u->c, u->p, v);
    t_assign(u->c, u->slot[0], v);
    t_assign(u->c, u->slot[1], t_broadcast_to(u->c, u->lr, (int64_t[4]){1, 1, 1, TILE}));
}
/* Keeps `many` values alive until the end. */
static void keeps(const given *u, int many)
{
    ab_t v[64], sum = u->g;
    for (int i = 0; i < many; i++) v[i] = t_mul_scalar(u->c, u->p, 0.013 + 0.1 * i);
    for (int i = 0; i < many; i++) sum = add(u, sum, v[i]);
    t_assign(u->c, u->p, t_mul_scalar(u->c, sum, 0.01));
}
/* 31 values and the gradient fill all registers; 32 values are one too many */
static void keeps_31(const given *u) { keeps(u, 31); }
static void keeps_32(const given *u) { keeps(u, 32); }
static void takes(const given *u, int many) /* operations */
{
    ab_t x = u->p;
    for (int i = 0; i < many; i++) x = t_add_scalar(u->c, x, i % 2 ? 0.3 : -0.4);
    t_assign(u->c, u->p, x);
}
static void takes_128(const given *u) { takes(u, UPDATE_STEPS); }
static void takes_129(const given *u) { takes(u, UPDATE_STEPS + 1); }
static void sums_up(const given *u)
{
    t_assign(u->c, u->p,
             t_broadcast_to(u->c, t_sum_to(u->c, u->g, (int64_t[4]){1, 1, 1, 1}), (int64_t[4]){1, 1, 1, TILE}));
}
static void reads_scalars(const given *u, int many)
{
    ab_t x = u->p;
    for (int i = 0; i < many; i++) x = add(u, x, t_const(u->c, (int64_t[4]){1, 1, 1, 1}, (double[]){0.1 * i}));
    t_assign(u->c, u->p, x);
}
static void reads_32(const given *u) { reads_scalars(u, UPDATE_SCALARS); }
static void reads_33(const given *u) { reads_scalars(u, UPDATE_SCALARS + 1); }
static void sets_up(const given *u, int many) /* `many` operations on the learning rate */
{
    ab_t x = u->lr;
    for (int i = 0; i < many; i++) x = i % 3 ? t_mul_scalar(u->c, x, 1.01) : t_map(u->c, x, AB_TANH);
    t_assign(u->c, u->p, add(u, u->p, x));
}
static void sets_up_24(const given *u) { sets_up(u, UPDATE_SETUP); }
/* one operation more than the setup phase can hold: the operations get launches of their own */
static void sets_up_25(const given *u) { sets_up(u, UPDATE_SETUP + 1); }
/* the sum adds the square after its rounding */
static void adagrad(const given *u)
{
    ab_t v = add(u, u->slot[1], t_map(u->c, u->g, AB_SQUARE));
    t_assign(u->c, u->slot[1], v);
    move(u, quotient(u, u->g, t_add_scalar(u->c, t_map(u->c, v, AB_SQRT), 1e-9)));
}
static void long_constant(const given *u)
{
    double v[TILE] = {0};
    t_assign(u->c, u->p, add(u, u->p, t_const(u->c, (int64_t[4]){1, 1, 1, TILE}, v)));
}

/* ---- the CPU and the device ---- */

typedef struct {
    params s;
    given u;
    ab_t scale;
    void *vector[VECTORS]; /* p, g, slots */
} side;

static int open_side(side *d, const backend *b, update f, int64_t n)
{
    *d = (side){.s = {.type = F32, .total = (size_t)n}};
    ab_ctx *c = d->u.c = tape_new(&d->s, b, F32, false);
    d->u.p = t_input(c, "p", F32, PHASE_STEP, 1, 1, 1, TILE);
    ab_t g = t_input(c, "g", F32, PHASE_STEP, 1, 1, 1, TILE);
    for (int i = 0; i < SLOTS; i++)
        d->u.slot[i] = t_input(c, arena_printf(&c->memory, "slot%d", i), F32, PHASE_STEP, 1, 1, 1, TILE);
    d->u.lr = t_input(c, "lr", F32, PHASE_SETUP, 1, 1, 1, 1);
    d->u.step = t_input(c, "step", F32, PHASE_SETUP, 1, 1, 1, 1);
    d->scale = t_input(c, "scale", F32, PHASE_SETUP, 1, 1, 1, 1);
    d->u.g = t_binary(c, OP_MUL, g, d->scale);
    f(&d->u);
    d->u.g = g;
    return tape_plan(c, NULL, NULL);
}

static int run_side(side *d, int64_t n, int step)
{
    ab_ctx *c = d->u.c;
    run_options r = {0};
    float lr = 0.01f / (float)step, at = (float)step, scale = 0.25f;
    tape_write(c, d->u.lr, &lr, sizeof lr), tape_write(c, d->u.step, &at, sizeof at),
        tape_write(c, d->scale, &scale, sizeof scale);
    tiling t = {.n_vectors = VECTORS, .count = n, .tile = TILE, .type = F32};
    const ab_t id[VECTORS] = {d->u.p, d->u.g, d->u.slot[0], d->u.slot[1], d->u.slot[2], d->u.slot[3]};
    for (int i = 0; i < VECTORS; i++) t.vector[i].id = id[i].id, t.vector[i].data = d->vector[i];
    if (tape_run_phase(c, &r, PHASE_CONST) || tape_run_phase(c, &r, PHASE_SETUP)) return -1;
#ifdef GPU_ON_CPU
    gpu_reversed = step % 2;
#endif
    bool graph = c->backend == &on_gpu && step == STEPS; /* a graph can hold launches only */
    if (graph) gpu_capture();
    int rc = c->backend->run_tiled(c, &t, &r);
    void *written = graph ? gpu_captured() : NULL;
    if (written) gpu_replay(written), gpu_graph_free(written);
#ifdef GPU_ON_CPU
    gpu_reversed = 0;
#endif
    return rc;
}

static void check_shadow(const char *what, int64_t n, const view *values, const void *shadow)
{
    uint16_t *found = xmalloc((size_t)n * 2);
    int64_t wrong = 0, first = 0;
    gpu_copy_out(found, shadow, (size_t)n * 2);
    for (int64_t i = n - 1; i >= 0; i--)
        if (found[i] != bf16_of_float((float)get(values, i))) wrong++, first = i;
    CHECK_THAT(!wrong, "%s: bf16 copy: %d wrong, the first at %d: found %04x, expected %04x", what, (int)wrong,
               (int)first, found[first], bf16_of_float((float)get(values, first)));
    free(found);
}

/* off: distance of the device's vectors from a multiple of 16 bytes [elements]. */
static void check_update(const char *name, update f, int64_t n, int64_t off, double tolerance)
{
    side cpu, gpu;
    void *block[VECTORS];
    char what[128];
    bool with_shadow = n % 3 != 0;
    int bad = open_side(&cpu, &cpu_backend, f, n) | open_side(&gpu, &on_gpu, f, n);
    CHECK_THAT(!bad, "%s: %s / %s", name, cpu.u.c->error.text, gpu.u.c->error.text);
    for (int i = 0; i < VECTORS; i++) {
        view v = randoms(tensor(F32, 1, 1, 1, n));
        /* Adam's second moment is not negative */
        for (int64_t j = 0; i == 3 && j < n; j++) set(&v, j, fabs(get(&v, j)));
        cpu.vector[i] = v.data;
        block[i] = gpu_alloc((size_t)(n + off) * 4);
        gpu.vector[i] = (float *)block[i] + off;
        gpu_copy_in(gpu.vector[i], v.data, (size_t)n * 4);
    }
    gpu.s.value = gpu.vector[0];
    void *shadow = gpu_alloc((size_t)(n + off) * 2);
    if (with_shadow) gpu.s.shadow = (uint16_t *)shadow + off;
    for (int step = 1; step <= STEPS && !bad; step++) {
        bad = run_side(&cpu, n, step) | run_side(&gpu, n, step);
        CHECK_THAT(!bad, "%s: %s / %s", name, cpu.u.c->error.text, gpu.u.c->error.text);
        for (int i = 0; i < VECTORS && !bad; i++) {
            view found = tensor(F32, 1, 1, 1, n), expected = {.data = cpu.vector[i], .dim = {1, 1, 1, n}, .type = F32};
            gpu_copy_out(found.data, gpu.vector[i], (size_t)n * 4);
            snprintf(what, sizeof what, "%s of %d, step %d, vector %d", name, (int)n, step, i);
            check_views(what, &found, &expected, tolerance);
            if (!i && with_shadow) check_shadow(what, n, &found, gpu.s.shadow);
            free(found.data);
        }
        CHECK_THAT(gpu.s.shadow_version == (with_shadow ? gpu.s.version + 1 : 0),
                   "%s: the bf16 copy is of version %d, expected %d", what, (int)gpu.s.shadow_version,
                   with_shadow ? (int)gpu.s.version + 1 : 0);
        gpu.s.version++;
    }
    gpu_release(shadow);
    for (int i = 0; i < VECTORS; i++) free(cpu.vector[i]), gpu_release(block[i]);
    tape_free(cpu.u.c), tape_free(gpu.u.c);
}

static void test_updates(void)
{
    static const struct {
        const char *name;
        update f;
        double tolerance;
    } all[] = {{"adam", adam, 2e-6},
               {"adamw", adamw, 2e-6},
               {"sgd", sgd, 1e-6},
               {"lion", lion, 1e-6},
               {"everything", everything, 2e-5},
               {"same value twice", same_value_twice, 1e-7},
               {"31 numbers kept", keeps_31, 1e-6},
               {"128 operations", takes_128, 1e-5},
               {"adagrad", adagrad, 2e-6},
               {"32 scalars", reads_32, 1e-5},
               {"24 operations of the setup", sets_up_24, 1e-5},
               {"25 operations of the setup", sets_up_25, 1e-5}};
    static const int64_t lengths[] = {1, 3, 64, 1027, 4 * TILE + 16};
    for (size_t i = 0; i < LENGTH(all); i++) {
        for (size_t j = 0; j < LENGTH(lengths); j++)
            check_update(all[i].name, all[i].f, lengths[j], 0, all[i].tolerance);
        check_update(all[i].name, all[i].f, 1100, 1, all[i].tolerance);
    }
    check_update("adam", adam, 270001, 0, 2e-6); /* more elements than one launch has threads */
}

static void check_words(const char *name, update f, const char *words)
{
    side gpu;
    CHECK_THAT(!open_side(&gpu, &on_gpu, f, TILE), "%s: %s", name, gpu.u.c->error.text);
    for (int i = 0; i < VECTORS; i++) gpu.vector[i] = gpu_alloc(TILE * 4);
    CHECK_REFUSED(run_side(&gpu, TILE, 1), &gpu.u.c->error, words);
    for (int i = 0; i < VECTORS; i++) gpu_release(gpu.vector[i]);
    tape_free(gpu.u.c);
}

/* ---- sums ---- */

static void test_sums(void)
{
    static const int64_t lengths[] = {0, 1, 3, 4, 1000, 16384, 16385, 70003};
    for (size_t i = 0; i < LENGTH(lengths); i++)
        for (int64_t off = 0; off < 2; off++) {
            int64_t n = lengths[i];
            view v = randoms(tensor(F32, 1, 1, 1, n + off)), w = randoms(tensor(F32, 1, 1, 1, n + off));
            float *g = gpu_copy_of(v.data, bytes_of_view(&v)), *h = gpu_copy_of(w.data, bytes_of_view(&w));
            double found = cuda_sum_squares(g + off, n, F32), expected = cpu_sum_squares((float *)v.data + off, n, F32);
            CHECK_THAT(fabs(found - expected) <= 1e-12 * expected, "sum of %d squares: found %.17g, expected %.17g",
                       (int)n, found, expected);
#ifdef GPU_ON_CPU
            gpu_reversed = 1;
#endif
            double again = cuda_sum_squares(g + off, n, F32);
            CHECK_THAT(found == again, "sum of %d squares: found %.17g, then %.17g", (int)n, found, again);
#ifdef GPU_ON_CPU
            gpu_reversed = 0;
#endif
            cuda_accumulate(g + off, h + off, n, F32);
            cpu_accumulate((float *)v.data + off, (float *)w.data + off, n, F32);
            view sum = tensor(F32, 1, 1, 1, n + off);
            gpu_copy_out(sum.data, g, bytes_of_view(&sum));
            check_views("accumulate", &sum, &v, 0);
            gpu_release(g), gpu_release(h);
            free(v.data), free(w.data), free(sum.data);
        }
}

static void test_clip(void)
{
    static const struct {
        double sum;
        float scale, clip, expected;
    } cases[] = {
        {100, 0.5f, 1, 0.1f}, {100, 0.5f, 6, 0.5f}, {0, 0.5f, 1, 0.5f}, {1e-12, 2, 1e-7f, 0.1f}, {1e60, 1, 1, 1e-30f}};
    double *sum = gpu_alloc(sizeof *sum);
    float *scale = gpu_alloc(sizeof *scale), found;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        gpu_copy_in(sum, &cases[i].sum, sizeof *sum);
        gpu_clip_scale(scale, sum, cases[i].scale, cases[i].clip);
        gpu_copy_out(&found, scale, sizeof found);
        CHECK_THAT(fabsf(found - cases[i].expected) <= 1e-6f * cases[i].expected, "clip %d: found %g, expected %g",
                   (int)i, found, cases[i].expected);
    }
    gpu_release(sum), gpu_release(scale);
}

int main(void)
{
    start();
    test_updates();
    check_words("keeps 32", keeps_32, "the update: it keeps more than 32 numbers of an element at once");
#ifdef GPU_ON_CPU
    setenv("ABLATE_EMULATED_CAPABILITY", "89", 1); /* blocks of this capability have 99 KiB of shared memory */
    check_words("keeps 31 on 8.9", keeps_31, "the update: it keeps more than 24 numbers of an element at once");
    unsetenv("ABLATE_EMULATED_CAPABILITY");
#endif
    check_words("long", takes_129, "the update: it needs more than 128 operations");
    check_words("a sum", sums_up, "a GPU runs only elementwise updates, but this one has SUM_TO");
    check_words("scalars", reads_33, "it reads more than 32 scalars");
    check_words("a long constant", long_constant,
                "it reads fp32 [64], which is neither a vector of the update nor one fp32 number");
    test_sums();
    test_clip();
    return finish();
}
