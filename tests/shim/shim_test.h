/* shim_test.h - compares the CUDA backend's operations with the CPU's, on the same random numbers.
 *
 * A test builds `call`s over host memory (tensor, randoms, ids_below). check_call copies every view to device memory,
 * runs the CPU's kernel on the host and the GPU's on the copy, and compares all views, inputs too (an operation may
 * write to a state). It runs the GPU's kernel three times: normally, with the fibers in reverse order, and from a
 * graph; the three results must be equal bit for bit. In a random order (ABLATE_SCHEDULE) it runs once. Built with
 * GPU_ON_CPU it tests the kernels on the CPU; without, on a real GPU.
 *
 *     int main(void)
 *     {
 *         start();
 *         view x = randoms(tensor(F32, 1, 1, 5, 7)), y = tensor(F32, 1, 1, 5, 7);
 *         call k = {.op = OP_MUL_SCALAR, .n_in = 1, .n_out = 1, .in = {x}, .out = {y}, .a = {.MUL_SCALAR = {.by = 3}}};
 *         check_call("scale", cpu_MUL_SCALAR, cuda_MUL_SCALAR, &k, 1e-6);
 *         release_views(&k);
 *         return finish();
 *     } */
#ifndef ABLATE_SHIM_TEST_H
#define ABLATE_SHIM_TEST_H
#include "tensor/cpu/cpu.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/runtime.h"
#include "drawn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int checks_done, checks_failed;
static rng dice;

/* ---- checks ---- */

#define CHECK_THAT(cond, ...)                                                                                          \
    do {                                                                                                               \
        checks_done++;                                                                                                 \
        if (!(cond)) checks_failed++, printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n");        \
    } while (0)
/* Expects a failure: rc is -1 and the message contains `part`. Clears the error, so that it does not make later checks
 * fail. */
#define CHECK_REFUSED(rc, e, part)                                                                                     \
    do {                                                                                                               \
        CHECK_THAT((rc) == -1 && strstr((e)->text, part), "found %d and \"%s\", expected -1 and words with \"%s\"",    \
                   rc, (e)->text, part);                                                                               \
        gpu_clear_refusal();                                                                                           \
    } while (0)

/* Seeds the random numbers of a case: they do not depend on earlier cases, and are equal in each run unless
 * ABLATE_TEST_SEED is set. */
static inline void roll(uint64_t which)
{
    const char *seed = getenv("ABLATE_TEST_SEED");
    dice = rng_seed(seed ? (uint64_t)atoll(seed) : 1, which);
}
/* Opens the device. */
static inline void start(void)
{
    const char *why = NULL;
    roll(0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (gpu_open(0, &why)) {
        printf("no GPU: %s\n", why);
        exit(77);
    }
}
static inline int finish(void)
{
    if (gpu_error()) checks_failed++, printf("the GPU's error: %s\n", gpu_error());
    gpu_close();
    printf("%d checks, %d failed\n", checks_done, checks_failed);
    return checks_failed || !checks_done ? 1 : 0;
}

/* ---- host tensors: allocated exactly as large as needed, NaN until written ---- */

static inline int64_t size_of(const view *v) { return v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3]; }
static inline size_t bytes_of_view(const view *v) { return (size_t)size_of(v) * dtype_size(v->type); }
static inline view tensor(dtype type, int64_t a, int64_t b, int64_t c, int64_t d)
{
    view v = {.dim = {a, b, c, d}, .type = type, .param = -1};
    size_t bytes = bytes_of_view(&v);
    v.data = xmalloc(bytes ? bytes : 1);
    memset(v.data, 0xff, bytes);
    return v;
}
static inline float float_of_bf16(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
/* rounds finite numbers to the nearest, ties to even; keeps infinities */
static inline uint16_t bf16_of_float(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}
static inline double get(const view *v, int64_t i)
{
    if (v->type == F32) return ((const float *)v->data)[i];
    if (v->type == BF16) return float_of_bf16(((const uint16_t *)v->data)[i]);
    if (v->type == F64) return ((const double *)v->data)[i];
    return ((const int32_t *)v->data)[i];
}
static inline void set(view *v, int64_t i, double x)
{
    if (v->type == F32)
        ((float *)v->data)[i] = (float)x;
    else if (v->type == BF16)
        ((uint16_t *)v->data)[i] = bf16_of_float((float)x);
    else if (v->type == F64)
        ((double *)v->data)[i] = x;
    else
        ((int32_t *)v->data)[i] = (int32_t)x;
}
static inline view randoms_in(view v, double low, double high)
{
    for (int64_t i = 0; i < size_of(&v); i++) set(&v, i, low + (high - low) * rng_uniform(&dice));
    return v;
}
static inline view randoms(view v) { return randoms_in(v, -2, 2); }
static inline view like(const view *v) { return tensor(v->type, v->dim[0], v->dim[1], v->dim[2], v->dim[3]); }
static inline view ids_below(view v, int64_t n) /* random ids, 0 .. n - 1 */
{
    for (int64_t i = 0; i < size_of(&v); i++) set(&v, i, (double)rng_below(&dice, (uint64_t)n));
    return v;
}
/* Returns ids [1,1,1,n] with the given values. */
static inline view ids_of(int64_t n, const int32_t *id)
{
    view v = tensor(I32, 1, 1, 1, n);
    memcpy(v.data, id, (size_t)n * sizeof *id);
    return v;
}
/* Returns offsets [1,1,1,sentences + 1] of sentences with 0 .. longest rows. The last sentence ends at row `rows` or
 * before; the rows behind its end are dummies. */
static inline view offsets(int64_t sentences, int64_t longest, int64_t rows)
{
    view v = tensor(I32, 1, 1, 1, sentences + 1);
    int64_t at = 0;
    for (int64_t b = 0; b <= sentences; b++) {
        set(&v, b, (double)at);
        int64_t n = (int64_t)rng_below(&dice, (uint64_t)longest + 1);
        at += n < rows - at ? n : rows - at;
    }
    return v;
}

/* ---- copies on the device ---- */

static inline void *gpu_copy_of(const void *host, size_t bytes)
{
    void *p = gpu_alloc(bytes);
    gpu_copy_in(p, host, bytes);
    return p;
}

typedef struct { /* a block of host memory, its copy on the device, and what each run left in the copy */
    void *host, *device;
    size_t bytes;
    char *before, *back[3];
    view v;           /* the view that the call has of it */
    const char *role; /* "in" or "out" */
    int index;
} check_block;

/* Returns whether |found - expected| exceeds `tolerance` times the tensor's largest number, plus 1/128 of the number
 * itself in bf16. Infinities and NaN must be equal. */
static inline bool differs(dtype type, double found, double expected, double largest, double tolerance)
{
    if (found == expected || (isnan(found) && isnan(expected))) return false;
    if (type == I32) return true;
    double allowed = tolerance * largest + (type == BF16 ? fabs(expected) / 128 : 0);
    return !(fabs(found - expected) <= allowed);
}
static inline double largest_of(const view *v)
{
    double most = 1e-30;
    for (int64_t i = 0; i < size_of(v); i++)
        if (isfinite(get(v, i)) && fabs(get(v, i)) > most) most = fabs(get(v, i));
    return most;
}
/* Compares two host views of the same shape and type; this counts as one check. */
static inline void check_views(const char *what, const view *found, const view *expected, double tolerance)
{
    double largest = largest_of(expected);
    int64_t wrong = 0, first = -1;
    for (int64_t i = 0; i < size_of(expected); i++)
        if (differs(expected->type, get(found, i), get(expected, i), largest, tolerance)) {
            if (!wrong) first = i;
            wrong++;
        }
    char shape[64];
    CHECK_THAT(!wrong,
               "%s: %lld of %lld elements of %s %s differ; the first at %lld: found %.9g, expected %.9g (largest %.3g)",
               what, (long long)wrong, (long long)size_of(expected), dtype_name(expected->type),
               shape_text(expected->dim, shape), (long long)first, get(found, first < 0 ? 0 : first),
               get(expected, first < 0 ? 0 : first), largest);
}

static inline int check_collect(call *k, check_block b[MAX_IN + MAX_OUT])
{
    int n = 0;
    for (int i = 0; i < k->n_in + k->n_out; i++) {
        bool is_in = i < k->n_in;
        const view *v = is_in ? &k->in[i] : &k->out[i - k->n_in];
        int j = 0;
        while (j < n && b[j].host != v->data) j++;
        if (!v->data || (j < n && b[j].bytes >= bytes_of_view(v))) continue;
        b[j] = (check_block){.host = v->data,
                             .bytes = bytes_of_view(v),
                             .v = *v,
                             .role = is_in ? "in" : "out",
                             .index = is_in ? i : i - k->n_in};
        if (j == n) n++;
    }
    return n;
}

static inline void *check_device(const check_block *b, int n, const void *host)
{
    for (int j = 0; j < n; j++)
        if (host && b[j].host == host) return b[j].device;
    return NULL;
}

/* Runs `on_cpu` on the call and `on_gpu` on its copy (see above). Views of the same host memory share device memory,
 * too; a view must begin at the start of a block from malloc. Prints both values of the first element that differs.
 * Sets the device's counter to the call's seed and step. */
static inline void check_call(const char *what, kernel on_cpu, kernel on_gpu, call *k, double tolerance)
{
    check_block b[MAX_IN + MAX_OUT] = {{0}};
    int n = check_collect(k, b), rc = 0, runs = getenv("ABLATE_SCHEDULE") ? 1 : 3;
    err e = {{0}};
    call g = *k;
    for (int j = 0; j < n; j++) {
        b[j].before = xmalloc(b[j].bytes + 1);
        memcpy(b[j].before, b[j].host, b[j].bytes);
        b[j].device = gpu_alloc(b[j].bytes);
    }
    for (int i = 0; i < k->n_in; i++) g.in[i].data = check_device(b, n, k->in[i].data);
    for (int i = 0; i < k->n_out; i++) g.out[i].data = check_device(b, n, k->out[i].data);
    gpu_set_counter(k->seed, k->step);
    for (int run = 0; run < runs && !rc; run++) { /* normally, in reverse order, from a graph */
        for (int j = 0; j < n; j++) gpu_copy_in(b[j].device, b[j].before, b[j].bytes);
#ifdef GPU_ON_CPU
        gpu_reversed = run == 1;
#endif
        if (run == 2) gpu_capture();
        rc = on_gpu(&g, &e);
        void *graph = run == 2 ? gpu_captured() : NULL;
        if (graph) gpu_replay(graph);
        for (int j = 0; j < n; j++) {
            b[j].back[run] = xmalloc(b[j].bytes + 1);
            gpu_copy_out(b[j].back[run], b[j].device, b[j].bytes);
        }
        gpu_graph_free(graph);
    }
#ifdef GPU_ON_CPU
    gpu_reversed = 0;
#endif
    CHECK_THAT(!rc && !gpu_error(), "%s: the GPU's kernel failed: %s / %s", what, e.text,
               gpu_error() ? gpu_error() : "no error noted");
    /* so that the next check does not report this error again; if the device itself failed, all later checks fail */
    gpu_clear_refusal();
    rc |= on_cpu(k, &e);
    CHECK_THAT(!rc, "%s: the CPU's kernel failed: %s", what, e.text);
    for (int j = 0; j < n; j++) {
        char name[256];
        snprintf(name, sizeof name, "%s, %s %d", what, b[j].role, b[j].index);
        view found = b[j].v;
        found.data = b[j].back[0];
        if (!rc) {
            check_views(name, &found, &b[j].v, tolerance);
            for (int run = 1; run < runs; run++)
                CHECK_THAT(!memcmp(b[j].back[0], b[j].back[run], b[j].bytes), "%s: other bits %s", name,
                           run == 1 ? "with the fibers reversed" : "from a graph");
        }
        gpu_release(b[j].device);
        free(b[j].before);
        for (int run = 0; run < 3; run++) free(b[j].back[run]);
    }
}

/* Expects equal bits; prints the first byte that differs. */
static inline void check_same_bits(const char *what, const void *found, const void *expected, size_t bytes)
{
    const unsigned char *a = found, *b = expected;
    size_t at = 0;
    while (at + 1 < bytes && a[at] == b[at]) at++;
    CHECK_THAT(!bytes || a[at] == b[at], "%s: byte %zu of %zu: found %02x, expected %02x", what, at, bytes, a[at],
               b[at]);
}

/* With batch_invariant, the last element of axis 0 must give the same bits if it is computed alone and if it is
 * computed with the others. */
static inline void check_alone(const char *what, kernel on_gpu, const call *k)
{
    const view *y = &k->out[0];
    size_t part = bytes_of_view(y) / (size_t)y->dim[0];
    char *back = xmalloc(bytes_of_view(y)), *alone = xmalloc(part);
    err e = {{0}};
    for (int run = 0; run < 2; run++) { /* run 0: all elements of axis 0; run 1: only the last element */
        call g = *k;
        g.batch_invariant = true;
        for (int i = 0; i < k->n_in + 1; i++) {
            const view *from = i < k->n_in ? &k->in[i] : y;
            view *to = i < k->n_in ? &g.in[i] : &g.out[0];
            if (run) to->dim[0] = 1;
            to->data = gpu_copy_of((char *)from->data + bytes_of_view(from) - bytes_of_view(to), bytes_of_view(to));
        }
        CHECK_THAT(!on_gpu(&g, &e), "%s: %s", what, e.text);
        gpu_copy_out(run ? alone : back, g.out[0].data, run ? part : bytes_of_view(y));
        for (int i = 0; i < k->n_in; i++) gpu_release(g.in[i].data);
        gpu_release(g.out[0].data);
    }
    check_same_bits(what, alone, back + bytes_of_view(y) - part, part);
    free(back);
    free(alone);
}

/* ---- rows with padding, which the CUDA backend has and the CPU has not (LINEAR in op.h) ---- */

/* Copies x [rows,words] into rows that are `padding` elements longer; these are NaN. */
static inline view padded(const view *x, int64_t padding)
{
    view y = tensor(x->type, 1, 1, x->dim[2], x->dim[3] + padding);
    size_t one = dtype_size(x->type), from = (size_t)x->dim[3] * one, to = (size_t)y.dim[3] * one;
    for (int64_t r = 0; r < x->dim[2]; r++)
        memcpy((char *)y.data + (size_t)r * to, (const char *)x->data + (size_t)r * from, from);
    return y;
}
static inline view unpadded(const view *y, int64_t padding)
{
    view x = tensor(y->type, 1, 1, y->dim[2], y->dim[3] - padding);
    size_t one = dtype_size(x.type), to = (size_t)x.dim[3] * one, from = (size_t)y->dim[3] * one;
    for (int64_t r = 0; r < x.dim[2]; r++)
        memcpy((char *)x.data + (size_t)r * to, (const char *)y->data + (size_t)r * from, to);
    return x;
}

/* Runs a CPU kernel on a call whose views `of` have rows with `columns` elements of padding: the kernel gets views
 * without it. Pass it to check_call as the CPU's kernel, after setting `without`. */
typedef struct {
    kernel plain;
    const view *of[3]; /* views of the tested call; NULL ends the list */
    int64_t columns;
} without_padding;
static without_padding without;
static inline int cpu_without_padding(const call *k, err *e)
{
    call c = *k;
    view *narrow[3];
    const view *wide[3];
    int n = 0;
    if (c.op == OP_CE)
        c.a.CE.padding = 0;
    else
        c.a.LINEAR.padding = 0;
    for (int i = 0; i < k->n_in + k->n_out; i++) {
        const view *v = i < k->n_in ? &k->in[i] : &k->out[i - k->n_in];
        for (int j = 0; j < 3 && without.of[j]; j++)
            if (v == without.of[j]) wide[n] = v, narrow[n++] = i < k->n_in ? &c.in[i] : &c.out[i - k->n_in];
    }
    for (int i = 0; i < n; i++) *narrow[i] = unpadded(wide[i], without.columns);
    int rc = without.plain(&c, e);
    for (int i = 0; i < n; i++) {
        view y = padded(narrow[i], without.columns);
        memcpy(wide[i]->data, y.data, bytes_of_view(&y));
        free(y.data), free(narrow[i]->data);
    }
    return rc;
}

/* Frees the call's views on the host; views that share memory are freed once. */
static inline void release_views(call *k)
{
    check_block b[MAX_IN + MAX_OUT] = {{0}};
    int n = check_collect(k, b);
    for (int j = 0; j < n; j++) free(b[j].host);
}
#endif
