/* fused.h - shared by the fused kernels: shapes of rows, ranges of threads, working memory, dropout decisions. */
#ifndef ABLATE_CPU_FUSED_H
#define ABLATE_CPU_FUSED_H
#include "tensor/cpu/cpu.h"
#include "tensor/graph/views.h"
#include <omp.h>

/* The calling thread's part [*from, *to) of n items; depends only on n and the number of threads. */
static inline void my_part(int64_t n, int64_t *from, int64_t *to)
{
    int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
    *from = n * me / all;
    *to = n * (me + 1) / all;
}
/* With fewer numbers than this, only one thread works. */
enum { WORTH_THREADS = 16384 };

/* At least `bytes` of the calling thread's own memory, 64-byte aligned, valid until its next call. */
void *scratch(size_t bytes);
/* Splits scratch memory into arrays aligned to cache lines; alignment costs up to LINE bytes for each. */
enum { LINE = 64 };
static inline void *cut(char **at, int64_t n, size_t size)
{
    void *p = *at;
    *at += ((size_t)n * size + LINE - 1) / LINE * LINE;
    return p;
}

/* Calls the f32 or f64 instance of a template's function: f64 for F64 rows, else f32. */
#define BY_REAL(type, name, ...)                                                                                       \
    do {                                                                                                               \
        if ((type) == F64)                                                                                             \
            name##_f64(__VA_ARGS__);                                                                                   \
        else                                                                                                           \
            name##_f32(__VA_ARGS__);                                                                                   \
    } while (0)
/* Calls the f32, f64 or bf16 instance. */
#define BY_TYPE(type, name, ...)                                                                                       \
    do {                                                                                                               \
        if ((type) == BF16)                                                                                            \
            name##_bf16(__VA_ARGS__);                                                                                  \
        else                                                                                                           \
            BY_REAL(type, name, __VA_ARGS__);                                                                          \
    } while (0)

/* ---- dropout: the decisions at one dropout place in one step (op.h, DROPOUT family) ---- */

typedef struct {
    int64_t key[PHILOX_ROUNDS][2]; /* per round: 32-bit keys in the layout of a vector lane */
    uint32_t place, step;
    uint32_t least; /* smallest 16-bit word that is kept; 0: keep everything */
    double scale;   /* factor on kept values: 1 / (1 - p) */
} dropout;
/* Keeps everything with scale 1 if not training. */
dropout dropout_of(const call *k, double p, int64_t place);
/* keep[j] = 1 or 0 for element first + j, j < n. Writes up to the next multiple of 16. */
void dropout_keep(const dropout *d, uint64_t first, int64_t n, float *keep);
/* Decisions for `rows` rows (at most DROPOUT_ROWS) of n elements, row r starting at first + r * stride: bit j % 32 of
 * bits[j / 32][r]; n is rounded up to a multiple of 32. */
enum { DROPOUT_ROWS = 16 };
void dropout_bits(const dropout *d, uint64_t first, uint64_t stride, int rows, int64_t n, uint32_t *bits);
#endif
