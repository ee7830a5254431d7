/* gemm.h - products of rows with a matrix, and of two sets of rows.
 *
 * Every element of a product is one chain of additions over k: it starts with the initial value (0, the bias, or y) and
 * adds terms in a fixed order. Blocks of k store the chain in memory and continue it later; rows and columns are
 * divided among threads, k is not. So an element's bits do not depend on the number of rows, on blocks or on threads,
 * and floats give the same bits in all instruction sets with fused multiply-adds.
 *
 * Factors are read as *words* of 32 bits: a float, or a pair of bf16 whose products vdpbf16ps adds, the odd one first.
 * Without that instruction, bf16 is widened to floats and multiplied in the same order; a product of two bf16 is exact
 * in a float. AMX tiles (gemm_tiles.c) have their own order.
 *
 * int8: each column of w and each row of x has a scale, its largest magnitude / 127. Sums of integer products are
 * exact, so all sets give the same result.
 */
#ifndef ABLATE_CPU_GEMM_H
#define ABLATE_CPU_GEMM_H
#include "tensor/cpu/fused.h"

typedef enum {
    WAY_F32,     /* F32 rows */
    WAY_WIDENED, /* BF16 rows, multiplied as floats */
    WAY_PAIRS,   /* BF16 rows with vdpbf16ps */
    WAY_TILES,   /* BF16 rows with AMX */
    WAY_BYTES,   /* F32 rows as int8, four per word, with vpdpbusd (VNNI) */
    WAY_SHORTS   /* F32 rows as int8 widened to int16, two per word, with vpmaddwd or in C */
} gemm_way;
/* How rows of `type` (F32 or BF16) are multiplied with the instruction set that these files are compiled for. */
gemm_way gemm_way_of(dtype type);
/* How F32 rows are multiplied in int8 (params.int8): gemm_int8.c. */
gemm_way gemm_int8_way(void);
static inline bool gemm_is_int8(gemm_way way) { return way == WAY_BYTES || way == WAY_SHORTS; }
enum { MOST_INT8 = 1 << 16 }; /* longest chain whose sum is guaranteed to fit in 32 bits */

typedef struct {
    gemm_way way;
    int64_t m, n, k;
    const void *x;      /* [m,k] */
    const float *w;     /* [k,n], or [n,k] if transposed */
    const void *packed; /* w packed by gemm_pack; NULL: w is packed temporarily */
    bool transposed;
    const float *bias;           /* [n] or NULL */
    bool add, relu;              /* y += ...; then max(0, .) */
    void *y;                     /* [m,n] of the type of x */
    const column_reader *reader; /* reads y block by block (tensor/graph/backend.h), or NULL */
    /* set by gemm_rows from x and packed, in int8 */
    const float *words;                 /* x [m, words of a row] */
    const float *row_scale, *col_scale; /* [m], [n] */
    const float *start;                 /* [n] integers as initial sums; NULL: 0 */
} gemm;
/* y = x w (+ bias) (+ y) (then max(0, .)) */
void gemm_rows(const gemm *g);
size_t gemm_packed_size(gemm_way way, int64_t k, int64_t n); /* bytes of a packed w */
void gemm_pack(gemm_way way, int64_t k, int64_t n, const float *w, bool transposed, void *to);
/* c [k,n] = x' y for x [m,k] and y [m,n]: sums over rows in order. m > 0 */
void gemm_outer(gemm_way way, int64_t m, int64_t k, int64_t n, const void *x, const void *y, float *c);

/* gemm_rows with AMX tiles, on bf16 rows. */
void tiles_rows(const gemm *g);
void tiles_pack(int64_t k, int64_t n, const float *w, bool transposed, uint16_t *to);
void tiles_outer(int64_t m, int64_t k, int64_t n, const uint16_t *x, const uint16_t *y, float *c);
size_t tiles_packed_size(int64_t k, int64_t n);

/* int8, always with packed weights and without `add`. */
void int8_rows(const gemm *g, void (*multiply)(const gemm *g)); /* quantises x, then calls multiply */
void int8_pack(gemm_way way, int64_t k, int64_t n, const float *w, bool transposed, void *to);
size_t int8_packed_size(gemm_way way, int64_t k, int64_t n);
#endif
