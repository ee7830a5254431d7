/* gemm.h - products of rows by a matrix, and of two sets of rows.
 *
 * Every element of a product is one chain over k: it starts with what the sum is added to (0, the bias, what y held) and takes one
 * step after the other in a fixed order. Blocks of k put a chain down in memory and take it up again; rows and columns are shared
 * out among threads, k never. So an element's bits depend neither on how many rows there are nor on blocks nor on threads, and
 * floats give the same bits in all sets that have fused multiply-adds.
 *
 * Factors are taken as *words* of 32 bits: a float, or a pair of bf16 of which vdpbf16ps adds both products, the odd one first.
 * Where there is no such instruction, bf16 is widened to floats and multiplied in that same order: a product of two bf16 is exact
 * in a float. AMX tiles (gemm_tiles.c) have an order of their own.
 *
 * int8: each column of w and each row of x has a scale, its largest magnitude over 127; the sum of products of whole numbers is exact,
 * so all sets have the same.
 */
#ifndef ABLATE_CPU_GEMM_H
#define ABLATE_CPU_GEMM_H
#include "cpu/fused.h"

typedef enum {
    WAY_F32,     /* F32 rows */
    WAY_WIDENED, /* BF16 rows, multiplied as floats */
    WAY_PAIRS,   /* BF16 rows by vdpbf16ps */
    WAY_TILES,   /* BF16 rows by AMX */
    WAY_BYTES,   /* F32 rows as int8, four a word, by vpdpbusd (VNNI) */
    WAY_SHORTS   /* F32 rows as int8 widened to int16, two a word, by vpmaddwd or in C */
} gemm_way;
/* How rows of that type (F32 or BF16) are multiplied by the set these files are compiled for. */
gemm_way gemm_way_of(dtype type);
/* How F32 rows are multiplied where values are taken as int8 (params.int8): gemm_int8.c. */
gemm_way gemm_int8_way(void);
static inline bool gemm_is_int8(gemm_way way) { return way == WAY_BYTES || way == WAY_SHORTS; }
enum { MOST_INT8 = 1 << 16 }; /* longest chain of which the sum surely stays in 32 bits */

typedef struct {
    gemm_way way;
    int64_t m, n, k;
    const void *x;       /* [m,k] */
    const float *w;      /* [k,n], or [n,k] when transposed */
    const void *packed;  /* w as gemm_pack leaves it; NULL: w is packed in passing and nothing is kept */
    bool transposed;
    const float *bias; /* [n] or NULL */
    bool add, relu;    /* y += ...; then max(0, .) */
    void *y;           /* [m,n] of the type of x */
    /* made by gemm_rows of x and packed, in int8 */
    const float *words;                  /* x [m, words of a row] */
    const float *row_scale, *col_scale;  /* [m], [n] */
    const float *start;                  /* [n] whole numbers that the sums start with; NULL: 0 */
} gemm;
/* y = x w (+ bias) (+ y) (then max(0, .)) */
void gemm_rows(const gemm *g);
size_t gemm_packed_size(gemm_way way, int64_t k, int64_t n); /* bytes of a packed w */
void gemm_pack(gemm_way way, int64_t k, int64_t n, const float *w, bool transposed, void *to);
/* c [k,n] = x' y for x [m,k] and y [m,n]: rows are summed over, in their order. m > 0 */
void gemm_outer(gemm_way way, int64_t m, int64_t k, int64_t n, const void *x, const void *y, float *c);

/* The same by AMX tiles, on bf16 rows. */
void tiles_rows(const gemm *g);
void tiles_pack(int64_t k, int64_t n, const float *w, bool transposed, uint16_t *to);
void tiles_outer(int64_t m, int64_t k, int64_t n, const uint16_t *x, const uint16_t *y, float *c);
size_t tiles_packed_size(int64_t k, int64_t n);

/* int8, always with packed weights and without `add`. */
void int8_rows(const gemm *g, void (*multiply)(const gemm *g)); /* rounds x, then calls multiply */
void int8_pack(gemm_way way, int64_t k, int64_t n, const float *w, bool transposed, void *to);
size_t int8_packed_size(gemm_way way, int64_t k, int64_t n);
#endif
