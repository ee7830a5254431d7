/* outer_tiles.c - the gradient of weights, c [m,n] = a' b for bf16 rows a [rows,m] and b [rows,n], by AMX tiles.
 *
 * A thread computes part of c, chunk by chunk. A chunk stays in the second-level cache while rows are packed and
 * multiplied, a few hundred at a time. */
#include "tensor/cpu/gemm.h"
#include "tensor/cpu/tiles.h"

#ifdef HAVE_TILES
enum { CHUNK_SIDE = 512, STEPS = 8 }; /* rows and columns of a chunk of c; blocks of rows packed at a time */
enum { PANEL = STEPS * 2 * TILE };    /* numbers of a packed panel: SIDE columns by STEPS * SIDE rows */

/* Packs panels of a left factor: columns become rows, and pairs of rows are adjacent. */
static void pack_left(const source *x, uint16_t *to)
{
    for (int64_t r = 0; r < x->rows; r += SIDE, to += 2 * TILE)
        for (int64_t j = 0; j < x->width; j += SIDE) {
            uint16_t *at = to + j / SIDE * PANEL;
            __m512i low[16], high[16];

            for (int i = 0; i < 16; i++) row_pairs(x, r + 2 * i, j, &low[i], &high[i]);
            turn_words(low);
            for (int i = 0; i < 16; i++) _mm512_store_si512(at + (i / 4 * 8 + i % 4) * SIDE, low[i]);
            turn_words(high);
            for (int i = 0; i < 16; i++) _mm512_store_si512(at + (i / 4 * 8 + i % 4 + 4) * SIDE, high[i]);
        }
}
static void pack_right(const source *x, uint16_t *to)
{
    for (int64_t r = 0; r < x->rows; r += SIDE, to += 2 * TILE)
        for (int64_t j = 0; j < x->width; j += SIDE) {

            for (int i = 0; i < 16; i++) {
                __m512i low, high;
                row_pairs(x, r + 2 * i, j, &low, &high);
                store_pairs(to + j / SIDE * PANEL + i * SIDE, low, high);
            }
        }
}

/* Computes one block of c, of which `m` by `n` elements exist. */
static void tile_block(const uint16_t *a, const uint16_t *b, int64_t steps, float *c, int64_t ldc, int64_t m, int64_t n,
                       bool add)
{
    float edge[SIDE * SIDE] __attribute__((aligned(64)));
    bool inside = m >= SIDE && n >= SIDE;
    if (!inside && add)
        for (int64_t i = 0; i < m && i < SIDE; i++)
            memcpy(edge + i * SIDE, c + i * ldc, (size_t)(n < SIDE ? n : SIDE) * sizeof *c);
    if (!add)
        tiles_zero();
    else if (inside)
        tiles_load(c, ldc);
    else
        tiles_load(edge, SIDE);
    TILES_MULTIPLY(a, 64, 2 * TILE, b, 2 * TILE, steps)
    if (inside) {
        tiles_store(c, ldc);
        return;
    }
    tiles_store(edge, SIDE);
    for (int64_t i = 0; i < m && i < SIDE; i++)
        memcpy(c + i * ldc, edge + i * SIDE, (size_t)(n < SIDE ? n : SIDE) * sizeof *c);
}

/* Prefetches rows from .. to into the second-level cache while the tiles compute. */
static void fetch(const source *x, int64_t from, int64_t to)
{
    for (int64_t r = from; r < to; r++)
        for (int64_t j = 0; j < x->width; j += SIDE)
            _mm_prefetch((const char *)(x->at + r * x->stride + j), _MM_HINT_T1);
}

/* Computes a chunk of c: columns m0.. of a by columns n0.. of b. */
static void chunk(const source *a, const source *b, int64_t rows, float *c, int64_t ldc, uint16_t *left,
                  uint16_t *right)
{
    for (int64_t r = 0; r < rows; r += STEPS * SIDE) {
        source x = *a, y = *b;
        x.at += r * x.stride;
        y.at += r * y.stride;
        x.rows = y.rows = rows - r < STEPS * SIDE ? rows - r : STEPS * SIDE;
        pack_left(&x, left);
        pack_right(&y, right);
        int64_t done = 0, all = blocks(x.width) * blocks(y.width),
                ahead = rows - r - x.rows < x.rows ? rows - r - x.rows : x.rows;
        for (int64_t m = 0; m < x.width; m += SIDE)
            for (int64_t n = 0; n < y.width; n += SIDE, done++) {
                int64_t first = x.rows + done * ahead / all, last = x.rows + (done + 1) * ahead / all;
                fetch(&x, first, last);
                fetch(&y, first, last);
                tile_block(left + m / SIDE * PANEL, right + n / SIDE * PANEL, blocks(x.rows), c + m * ldc + n, ldc,
                           x.width - m, y.width - n, r > 0);
            }
    }
}

void tiles_outer(int64_t rows, int64_t m, int64_t n, const uint16_t *a, const uint16_t *b, float *c)
{
    bool by_m = m >= n; /* threads divide the longer side of c; each packs the whole shorter one */
#pragma omp parallel if (rows * m * n > WORTH_THREADS * 16)
    {
        int64_t from, to;
        my_part(blocks(by_m ? m : n), &from, &to);
        from *= SIDE, to *= SIDE;
        int64_t m0 = by_m ? from : 0, m1 = by_m && to < m ? to : m, n0 = by_m ? 0 : from, n1 = !by_m && to < n ? to : n;
        uint16_t *left = scratch((size_t)(2 * CHUNK_SIDE / SIDE * PANEL) * sizeof *left),
                 *right = left + CHUNK_SIDE / SIDE * PANEL;
        tiles_begin();
        for (int64_t i = m0; i < m1; i += CHUNK_SIDE)
            for (int64_t j = n0; j < n1; j += CHUNK_SIDE) {
                source x = {a + i, m, rows, m1 - i < CHUNK_SIDE ? m1 - i : CHUNK_SIDE},
                       y = {b + j, n, rows, n1 - j < CHUNK_SIDE ? n1 - j : CHUNK_SIDE};
                chunk(&x, &y, rows, c + i * n + j, n, left, right);
            }
        tiles_end();
    }
}
#else
void tiles_outer(int64_t rows, int64_t m, int64_t n, const uint16_t *a, const uint16_t *b, float *c)
{
    (void)rows, (void)m, (void)n, (void)a, (void)b, (void)c;
}
#endif
