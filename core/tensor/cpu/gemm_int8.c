/* gemm_int8.c - rows and weights as int8 for products in decoding: scales, rounding, packing. gemm_blocks.c multiplies.
 *
 * x is replaced by q max|x| / 127, q a whole number in -127 .. 127. The maximum is over a row of x, or over a column of
 * w. The range is symmetric, so 0 stays 0.
 * Rows are rounded for each product, weights once. Rounding is to nearest, halves away from 0, by operations that are
 * exact or rounded the same way in every set. */
#include "tensor/cpu/gemm_words.h"
#include <stdlib.h>

gemm_way gemm_int8_way(void) { return cpu_has_vnni() ? WAY_BYTES : WAY_SHORTS; }

enum { INFINITE = 0x7f800000 };
/* compared as bits, which have the same order as the numbers */
INLINE int32_t magnitude(float x) { return (int32_t)(float_bits(x) & 0x7fffffff); }
INLINE int32_t whole(float x, float twice_127_over_max)
{
    int32_t twice = (int32_t)(x * twice_127_over_max);
    return (twice + (twice > 0) - (twice < 0)) / 2;
}
/* The scale, max / 127, from the bits of max, the largest magnitude (NaN if a number was NaN). by: 254 / max. */
INLINE float scale_of(int32_t most, float *by)
{
    float max = float_of_bits((uint32_t)most);
    *by = most > 0 && most < INFINITE ? 254 / max : 0;
    if (*by > 3e38f) *by = 0; /* the row is so small that it is rounded to 0 */
    return most < INFINITE ? max / 127 : __builtin_nanf("");
}

/* ---- rows ---- */

static void round_row(gemm_way way, const float *x, int64_t k, float *words, float *scale)
{
    int32_t most = 0;
    float by;
    uint8_t *bytes = (uint8_t *)words;  /* q + 128, four per word */
    int16_t *shorts = (int16_t *)words; /* q, two per word */
    for (int64_t i = 0; i < k; i++) most = magnitude(x[i]) > most ? magnitude(x[i]) : most;
    *scale = scale_of(most, &by);
    words[words_of(way, k) - 1] = 0; /* numbers behind the row's last are 0, or multiplied by a weight 0 */
    if (by == 0)
        memset(words, way == WAY_BYTES ? 128 : 0, (size_t)words_of(way, k) * sizeof *words);
    else if (way == WAY_BYTES)
        for (int64_t i = 0; i < k; i++) bytes[i] = (uint8_t)(whole(x[i], by) + 128);
    else
        for (int64_t i = 0; i < k; i++) shorts[i] = (int16_t)whole(x[i], by);
}

/* ---- packed weights: panels of words, a scale for each column, and for bytes -128 times the column's sum ---- */

static int64_t padded(int64_t n) { return divide_up(n, NR) * NR; }
static int64_t panel_words(gemm_way way, int64_t k, int64_t n) { return padded(n) * words_of(way, k); }

size_t int8_packed_size(gemm_way way, int64_t k, int64_t n)
{
    return (size_t)(panel_words(way, k, n) + 2 * padded(n)) * sizeof(float);
}

/* Packs column j of w into place j % NR of its panel. */
static void pack_column(gemm_way way, int64_t k, int64_t n, int64_t j, const float *w, bool transposed, float *panels,
                        float *scale, int32_t *start)
{
    int64_t step = transposed ? 1 : n;
    const float *column = w + (transposed ? j * k : j);
    char *to = (char *)(panels + j / NR * NR * words_of(way, k) + j % NR);
    int32_t most = 0, sum = 0;
    float by;
    for (int64_t i = 0; i < k; i++) most = magnitude(column[i * step]) > most ? magnitude(column[i * step]) : most;
    *scale = scale_of(most, &by);
    for (int64_t i = 0; i < k && by != 0; i++) {
        int32_t q = whole(column[i * step], by);
        sum += q;
        if (way == WAY_BYTES)
            *(int8_t *)(to + i / 4 * NR * 4 + i % 4) = (int8_t)q;
        else
            *(int16_t *)(void *)(to + i / 2 * NR * 4 + i % 2 * 2) = (int16_t)q;
    }
    *start = way == WAY_BYTES ? -128 * sum : 0;
}

void int8_pack(gemm_way way, int64_t k, int64_t n, const float *w, bool transposed, void *to)
{
    float *panels = to, *scale = panels + panel_words(way, k, n);
    int32_t *start = (int32_t *)(scale + padded(n));
    memset(to, 0, int8_packed_size(way, k, n));
#pragma omp parallel for schedule(static) if (k * n > WORTH_THREADS)
    for (int64_t j = 0; j < n; j++) pack_column(way, k, n, j, w, transposed, panels, scale + j, start + j);
}

/* ---- the product ---- */

void int8_rows(const gemm *g, void (*multiply)(const gemm *g))
{
    int64_t words = words_of(g->way, g->k);
    const float *scales = (const float *)g->packed + panel_words(g->way, g->k, g->n);
    float *x = xmalloc((size_t)(g->m * (words + 1)) * sizeof *x), *row_scale = x + g->m * words;
#pragma omp parallel for schedule(static) if (g->m * g->k > WORTH_SHARING)
    for (int64_t r = 0; r < g->m; r++)
        round_row(g->way, (const float *)g->x + r * g->k, g->k, x + r * words, row_scale + r);
    gemm h = *g;
    h.words = x, h.row_scale = row_scale, h.col_scale = scales;
    h.start = g->way == WAY_BYTES ? scales + padded(g->n) : NULL;
    multiply(&h);
    free(x);
}
