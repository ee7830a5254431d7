/* fused_case.h - views of random numbers and calls on them, for the tests of the fused kernels. */
#ifndef FUSED_CASE_H
#define FUSED_CASE_H
#include "tensor/cpu/cpu.h"
#include "test.h"

static const dtype row_types[] = {F64, F32, BF16};
/* Largest allowed difference of a kernel's row from a row computed in double from the same inputs, relative to the
 * latter's norm. */
static inline double tolerance(dtype t) { return t == F64 ? 1e-12 : t == F32 ? 1e-5 : 2e-2; }
static inline dtype sums_of(dtype t) { return t == F64 ? F64 : F32; }

static inline view new_view(dtype type, int64_t rows, int64_t width)
{
    return (view){.data = xcalloc((size_t)(rows * width) + 1, dtype_size(type)),
                  .dim = {1, 1, rows, width},
                  .type = type,
                  .param = -1};
}
static inline int64_t count(const view *v) { return v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3]; }
static inline double get(const view *v, int64_t i)
{
    if (v->type == F64) return ((double *)v->data)[i];
    if (v->type == F32) return ((float *)v->data)[i];
    if (v->type == I32) return ((int32_t *)v->data)[i];
    uint32_t u = (uint32_t)((uint16_t *)v->data)[i] << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
static inline void set(const view *v, int64_t i, double value)
{
    float x = (float)value;
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if (v->type == F64)
        ((double *)v->data)[i] = value;
    else if (v->type == F32)
        ((float *)v->data)[i] = x;
    else if (v->type == I32)
        ((int32_t *)v->data)[i] = (int32_t)value;
    else
        ((uint16_t *)v->data)[i] = (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
/* Nearly normal, from one draw: logarithm and cosine for a normal number took a third of a test's time. */
static inline double bell(rng *r)
{
    const double mean = 2 * 65535, sd = 37837.2; /* mean and deviation of a sum of four words of 16 bits */
    uint64_t x = rng_next(r);
    return ((double)((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48)) - mean) / sd;
}
static inline view random_view(dtype type, int64_t rows, int64_t width, uint64_t seed)
{
    view v = new_view(type, rows, width);
    rng r = rng_seed(seed, 1);
    for (int64_t i = 0; i < count(&v); i++) set(&v, i, bell(&r));
    return v;
}
static inline view copy_as(const view *v, dtype type) /* rounds to `type` */
{
    view c = *v;
    c.type = type;
    c.data = xcalloc((size_t)count(v) + 1, dtype_size(type));
    for (int64_t i = 0; i < count(v); i++) set(&c, i, get(v, i));
    return c;
}
static inline view ids_view(int64_t n, const int32_t *id)
{
    view v = new_view(I32, 1, n);
    memcpy(v.data, id, (size_t)n * sizeof *id);
    return v;
}

/* Compares rows of `found` with rows of `want`: the norm of the difference, relative to the norm of `want`'s row. */
#define CHECK_ROWS(found, want, relative) check_rows(__FILE__, __LINE__, #found, &(found), &(want), relative)
static inline void check_rows(const char *file, int line, const char *name, const view *found, const view *want,
                              double relative)
{
    int64_t width = want->dim[3], rows = count(want) / width;
    double floor_ = 0;
    for (int64_t i = 0; i < count(want); i++) floor_ += get(want, i) * get(want, i);
    floor_ = 0.5 * sqrt(floor_ / (double)(rows ? rows : 1)) +
             /* lower bound of a row's norm, for rows of nearly 0: half the root mean square of all rows' norms */
             1e-30;
    test_done++;
    for (int64_t r = 0; r < rows; r++) {
        double diff = 0, norm = 0;
        for (int64_t j = 0; j < width; j++) {
            double w = get(want, r * width + j), d = get(found, r * width + j) - w;
            diff += d * d, norm += w * w;
        }
        if (sqrt(diff) <= relative * fmax(sqrt(norm), floor_)) continue;
        test_failed++;
        printf("%s:%d: %s (%s): row %lld of %lld, first found %g, expected %g; norm of the difference %.3g, "
               "allowed %.3g of %.3g\n",
               file, line, name, dtype_name(found->type), (long long)r, (long long)rows, get(found, r * width),
               get(want, r * width), sqrt(diff), relative, sqrt(norm));
        return;
    }
}
#define CHECK_SAME_BITS(a, b) CHECK_INT(memcmp((a).data, (b).data, (size_t)count(&(a)) * dtype_size((a).type)), 0)

#define RUN(name, c)                                                                                                   \
    do {                                                                                                               \
        err e_ = {""};                                                                                                 \
        int status_ = cpu_##name(&(c), &e_);                                                                           \
        test_done++;                                                                                                   \
        if (status_) test_failed++, printf("%s:%d: " #name " failed: %s\n", __FILE__, __LINE__, e_.text);              \
    } while (0)
static inline void free_views(view *v, int n)
{
    for (int i = 0; i < n; i++) free(v[i].data);
}
#endif
