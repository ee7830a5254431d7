/* tiles.h - AMX tiles, shared by the kernels that use them. Included if the compiler supports them
 * (HAVE_TILES).
 *
 * Blocks have SIDE rows and columns. A left factor is split into tiles of 16 rows x 32 numbers. A right factor
 * [k,n] is split into tiles of 32 x 16 whose sixteen rows have pairs (b[2i][j], b[2i+1][j]), the instruction's
 * layout.
 */
#ifndef ABLATE_CPU_TILES_H
#define ABLATE_CPU_TILES_H
#include <stdbool.h>

/* Does this processor have tiles, and may this process use them? Each thread calls begin and end around its work. */
bool tiles_usable(void);
void tiles_begin(void);
void tiles_end(void);

/* clang before 15 writes __AMXBF16__ */
#if (defined(__AMX_BF16__) || defined(__AMXBF16__)) && defined(__AVX512BF16__) && defined(__linux__)
#define HAVE_TILES 1
#include "tensor/cpu/vectors.h"
enum { SIDE = 32, TILE = 512 }; /* rows and columns of a block; numbers in a bf16 tile */

INLINE int64_t blocks(int64_t n) { return (n + SIDE - 1) / SIDE; }
INLINE int64_t padded(int64_t n) { return blocks(n) * SIDE; }

typedef struct {
    const uint16_t *at;
    int64_t stride, rows, width;
} source;                                                            /* zero outside rows x width */
INLINE __m512i row_block(const source *x, int64_t r, int64_t column) /* loads 32 numbers of a row */
{
    if (r >= x->rows) return _mm512_setzero_si512();
    int64_t left = x->width - column;
    __mmask32 some = left >= SIDE ? ~0u : (1u << left) - 1;
    return _mm512_maskz_loadu_epi16(some, x->at + r * x->stride + column);
}
/* Rows r and r + 1 as pairs, in the order of the unpacking instructions: word w of low is column 8 (w / 4) +
 * w % 4, and high has the next four columns. */
INLINE void row_pairs(const source *x, int64_t r, int64_t column, __m512i *low, __m512i *high)
{
    __m512i a = row_block(x, r, column), b = row_block(x, r + 1, column);
    *low = _mm512_unpacklo_epi16(a, b);
    *high = _mm512_unpackhi_epi16(a, b);
}
/* Stores the pairs as rows of two tiles of a right factor: columns 0 to 15, and 16 to 31. */
INLINE void store_pairs(uint16_t *to, __m512i low, __m512i high)
{
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                  second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi64(low, first, high));
    _mm512_storeu_si512(to + TILE, _mm512_permutex2var_epi64(low, second, high));
}

/* 16 x 16 words of 32 bits, in place: rows become columns. */
INLINE void turn_words(__m512i x[16])
{
    __m512i y[16];
    for (int i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) /* x[i + c]: column 4 l + c of rows i .. i + 3, in 128-bit lane l */
        for (int c = 0; c < 2; c++) {
            x[i + 2 * c] = _mm512_unpacklo_epi64(y[i + c], y[i + c + 2]);
            x[i + 2 * c + 1] = _mm512_unpackhi_epi64(y[i + c], y[i + c + 2]);
        }
    for (int c = 0; c < 4; c++) {
        __m512i a = _mm512_shuffle_i32x4(x[c], x[4 + c], 0x88), b = _mm512_shuffle_i32x4(x[c], x[4 + c], 0xdd);
        __m512i d = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0x88),
                e = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0xdd);
        y[c] = _mm512_shuffle_i32x4(a, d, 0x88);
        y[8 + c] = _mm512_shuffle_i32x4(a, d, 0xdd);
        y[4 + c] = _mm512_shuffle_i32x4(b, e, 0x88);
        y[12 + c] = _mm512_shuffle_i32x4(b, e, 0xdd);
    }
    for (int i = 0; i < 16; i++) x[i] = y[i];
}

/* The product of one block in tiles 0 to 3, over `steps` blocks of SIDE; lda: bytes from row to row of the
 * left factor; a_step, b_step: numbers from block to block. */
#define TILES_MULTIPLY(a, lda, a_step, b, b_step, steps)                                                               \
    for (int64_t k_ = 0; k_ < (steps); k_++) {                                                                         \
        _tile_loadd(4, (a) + k_ * (a_step), lda);                                                                      \
        _tile_loadd(6, (b) + k_ * (b_step), 64);                                                                       \
        _tile_loadd(7, (b) + k_ * (b_step) + TILE, 64);                                                                \
        _tile_loadd(5, (a) + k_ * (a_step) + (lda) / 2 * 16, lda);                                                     \
        _tile_dpbf16ps(0, 4, 6);                                                                                       \
        _tile_dpbf16ps(1, 4, 7);                                                                                       \
        _tile_dpbf16ps(2, 5, 6);                                                                                       \
        _tile_dpbf16ps(3, 5, 7);                                                                                       \
    }
INLINE void tiles_load(const float *c, int64_t ldc)
{
    size_t row = (size_t)ldc * sizeof *c;
    _tile_loadd(0, c, row);
    _tile_loadd(1, c + SIDE / 2, row);
    _tile_loadd(2, c + SIDE / 2 * ldc, row);
    _tile_loadd(3, c + SIDE / 2 * ldc + SIDE / 2, row);
}
INLINE void tiles_zero(void)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}
INLINE void tiles_store(float *c, int64_t ldc)
{
    size_t row = (size_t)ldc * sizeof *c;
    _tile_stored(0, c, row);
    _tile_stored(1, c + SIDE / 2, row);
    _tile_stored(2, c + SIDE / 2 * ldc, row);
    _tile_stored(3, c + SIDE / 2 * ldc + SIDE / 2, row);
}
#endif
#endif
