/* gemm_words.h - shared by the files of products: vectors of words, and the arguments of a tile of sums. */
#ifndef ABLATE_CPU_GEMM_WORDS_H
#define ABLATE_CPU_GEMM_WORDS_H
#include "base/unroll.h"
#include "base/vmath.h"
#include "tensor/cpu/gemm.h"
#include "tensor/cpu/intrinsics.h"
#include <string.h>

/* VEC: bytes of a vector. MR: rows of a tile; its sums, two vectors per row, fill almost all registers. */
#if defined(__AVX512F__)
#define VEC 64
#define MR  14
#elif defined(__AVX2__)
#define VEC 32
#define MR  6
#else /* SSE2, NEON, ... */
#define VEC 16
#define MR  4
#endif
enum { L = VEC / 4, NR = 2 * L, PANELS = 4 }; /* floats per vector, columns per panel, limit of panels side by side */
enum { KC = 512, WORTH_SHARING = 1 << 18 };   /* words of a chain per block; fewest multiply-adds for several threads */

#define INLINE static inline __attribute__((always_inline, unused))
typedef float vf __attribute__((vector_size(VEC)));
typedef float vf_at __attribute__((vector_size(VEC), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(VEC)));
typedef uint32_t vu __attribute__((vector_size(VEC)));
typedef uint16_t vh __attribute__((vector_size(VEC / 2)));
typedef uint16_t vh_at __attribute__((vector_size(VEC / 2), aligned(2), may_alias));

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
/* Words of k numbers; bf16 in pairs, padded with 0. */
INLINE int64_t words_of(gemm_way way, int64_t k)
{
    if (way == WAY_BYTES) return (k + 3) / 4;
    return way == WAY_F32 ? k : way == WAY_WIDENED ? (k + 1) / 2 * 2 : (k + 1) / 2;
}
INLINE float pair_of(bf16 even, bf16 odd) { return float_of_bits((uint32_t)odd << 16 | even); }
INLINE vh rounded(vf x) /* like to_bf16 */
{
    vu u = (vu)x, near = (u + 0x7fff + ((u >> 16) & 1)) >> 16, quiet = u >> 16 | 0x40, nan = (vu)(x != x);
    return __builtin_convertvector((near & ~nan) | (quiet & nan), vh);
}

typedef struct {
    const float *a; /* left factor: word i of row r at r a_row + i a_step */
    int64_t a_row, a_step;
    const float *b; /* right factor: panels [k][NR], b_panel floats apart */
    int64_t b_panel, k;
    const float *start; /* initial values of the chains, rows start_row apart; NULL: 0 */
    int64_t start_row;
    float *c; /* the sums */
    int64_t c_row;
    const float *next; /* prefetched for writing: c itself, or where the next tile's sums start */
    uint16_t *y16;     /* the sums rounded to bf16 go here instead of c; NULL: to c */
    int64_t y16_row;
    bool relu;
    const float *row_scale, *col_scale, *bias; /* for int8, applied at the end of the chains; bias may be NULL */
    const char *fetch; /* prefetched into the second-level cache, one line per word, in steps of fetch_step bytes */
    int64_t fetch_step;
} tile_job;
#endif
