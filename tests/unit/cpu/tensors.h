/* tensors.h - for tests of the CPU's generic kernels: random tensors, access by index, calls, comparison. */
#ifndef TEST_CPU_TENSORS_H
#define TEST_CPU_TENSORS_H
#include "tensor/cpu/cpu.h"
#include "base/vmath.h"
#include "test.h"
#include <omp.h>

static rng dice;

/* Memory of exactly the needed size, so that a sanitizer finds every access outside. */
static inline view tensor(dtype type, int64_t a, int64_t b, int64_t d, int64_t e)
{
    view v = {.dim = {a, b, d, e}, .type = type, .param = -1};
    size_t bytes = (size_t)(a * b * d * e) * dtype_size(type);
    v.data = xmalloc(bytes ? bytes : 1);
    memset(v.data, 0xff, bytes); /* NaN until written */
    return v;
}
static inline view like(dtype type, const view *v) { return tensor(type, v->dim[0], v->dim[1], v->dim[2], v->dim[3]); }
static inline int64_t size_of(const view *v) { return v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3]; }

static inline double get(const view *v, int64_t i)
{
    switch (v->type) {
    case F32: return ((const float *)v->data)[i];
    case F64: return ((const double *)v->data)[i];
    case BF16: return from_bf16(((const bf16 *)v->data)[i]);
    default: return ((const int32_t *)v->data)[i];
    }
}
static inline void set(view *v, int64_t i, double x)
{
    switch (v->type) {
    case F32: ((float *)v->data)[i] = (float)x; break;
    case F64: ((double *)v->data)[i] = x; break;
    case BF16: ((bf16 *)v->data)[i] = to_bf16((float)x); break;
    default: ((int32_t *)v->data)[i] = (int32_t)x; break;
    }
}
/* Index of an element; on an axis of length 1 any index means element 0. */
static inline int64_t place(const view *v, int64_t a, int64_t b, int64_t d, int64_t e)
{
    const int64_t *n = v->dim;
    return (((n[0] > 1 ? a : 0) * n[1] + (n[1] > 1 ? b : 0)) * n[2] + (n[2] > 1 ? d : 0)) * n[3] + (n[3] > 1 ? e : 0);
}
static inline double at(const view *v, int64_t a, int64_t b, int64_t d, int64_t e)
{
    return get(v, place(v, a, b, d, e));
}
#define EACH(v)                                                                                                        \
    for (int64_t a = 0; a < (v).dim[0]; a++)                                                                           \
        for (int64_t b = 0; b < (v).dim[1]; b++)                                                                       \
            for (int64_t d = 0; d < (v).dim[2]; d++)                                                                   \
                for (int64_t e = 0; e < (v).dim[3]; e++)

static inline view randoms(view v) /* numbers in (-2, 2) */
{
    for (int64_t i = 0; i < size_of(&v); i++) set(&v, i, 4 * rng_uniform(&dice) - 2);
    return v;
}
static inline view ids_below(view v, int64_t n)
{
    for (int64_t i = 0; i < size_of(&v); i++) set(&v, i, (double)rng_below(&dice, (uint64_t)n));
    return v;
}
static inline view copy_of(const view *v)
{
    view w = like(v->type, v);
    memcpy(w.data, v->data, (size_t)size_of(v) * dtype_size(v->type));
    return w;
}
/* A length for an axis: often 1, often near a multiple of 16. */
static inline int64_t length(void)
{
    static const int64_t lengths[] = {1, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 40};
    return lengths[rng_below(&dice, LENGTH(lengths))];
}
static inline view any_tensor(dtype type)
{
    int64_t a = 1 + (int64_t)rng_below(&dice, 3), b = 1 + (int64_t)rng_below(&dice, 4), d = length(), e = length();
    return tensor(type, a, b, d, e);
}

/* ---- calls and comparisons ---- */

static err call_error;
/* Runs a kernel; the caller owns inputs and outputs. */
static inline int run_op(kernel f, op o, const attr *a, int n_in, const view *in, view *out)
{
    call k = {.op = o, .n_in = n_in, .n_out = 1};
    if (a) k.a = *a;
    for (int i = 0; i < n_in; i++) k.in[i] = in[i];
    k.out[0] = *out;
    call_error.text[0] = 0;
    int rc = f(&k, &call_error);
    if (rc && !call_error.text[0]) printf("%s failed without words\n", op_names[o]);
    return rc;
}
#define RUN(NAME, a, out, ...)                                                                                         \
    run_op(cpu_##NAME, OP_##NAME, a, (int)(sizeof((view[]){__VA_ARGS__}) / sizeof(view)), (view[]){__VA_ARGS__}, out)

static double largest_error[OP_COUNT][4];
/* Compares with expected numbers; errors are relative to the larger of 1 and the number. Records the operation's
 * largest error. */
static inline void compare(op o, const view *found, const double *expected, double tolerance, const char *what)
{
    double worst = 0;
    int64_t where = 0;
    for (int64_t i = 0; i < size_of(found); i++) {
        double f = get(found, i), x = expected[i];
        double d = f == x ? 0 : fabs(f - x) / fmax(1, fabs(x));
        if (isnan(d)) d = INFINITY;
        if (d > worst) worst = d, where = i;
    }
    largest_error[o][found->type] = fmax(largest_error[o][found->type], worst);
    test_done++;
    if (worst <= tolerance) return;
    test_failed++;
    printf("%s %s %s [%d,%d,%d,%d]: at %lld found %.9g, expected %.9g\n", op_names[o], dtype_name(found->type), what,
           (int)found->dim[0], (int)found->dim[1], (int)found->dim[2], (int)found->dim[3], (long long)where,
           get(found, where), expected[where]);
}
static inline double allowed(dtype t, double of_f32) { return t == F64 ? of_f32 * 1e-8 : t == BF16 ? 0.004 : of_f32; }
static inline void release(view *v, int n)
{
    for (int i = 0; i < n; i++) free(v[i].data);
}
#define RELEASE(...) release((view[]){__VA_ARGS__}, (int)(sizeof((view[]){__VA_ARGS__}) / sizeof(view)))
static inline bool same_bits(const view *x, const view *y)
{
    return !memcmp(x->data, y->data, (size_t)size_of(x) * dtype_size(x->type));
}
static inline void print_errors(void)
{
    for (int o = 0; o < OP_COUNT; o++)
        for (int t = 0; t < 4; t++)
            if (largest_error[o][t] > 0)
                printf("%-14s %-5s largest error %.2g\n", op_names[o], dtype_name((dtype)t), largest_error[o][t]);
}
#endif
