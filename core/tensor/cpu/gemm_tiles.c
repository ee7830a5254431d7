/* gemm_tiles.c - y = x w for bf16 rows with AMX tiles.
 *
 * A block of y, 32 by 32, stays in four tiles during the loop over k: an element is one chain, whatever the number of
 * rows. w is packed into panels of 32 columns; for each 32 of k, two tiles hold pairs (w[2i][j], w[2i+1][j]). */
#include "base/vmath.h"
#include "tensor/cpu/gemm.h"
#include "tensor/cpu/tiles.h"
#include <string.h>

#ifdef HAVE_TILES
enum { AT_ONCE = 512 }; /* columns of w packed at a time */

size_t tiles_packed_size(int64_t k, int64_t n) { return (size_t)(padded(k) * padded(n)) * sizeof(uint16_t); }

/* Packs columns j .. j + 31 of w. */
static void pack_panel(int64_t k, int64_t n, int64_t j, const float *w, bool transposed, uint16_t *to)
{
    int64_t cols = n - j < SIDE ? n - j : SIDE;
    memset(to, 0, (size_t)(padded(k) * SIDE) * sizeof *to);
    for (int64_t i = 0; i < k; i++)
        for (int64_t c = 0; c < cols; c++) {
            float x = transposed ? w[(j + c) * k + i] : w[i * n + j + c];
            to[i / SIDE * 2 * TILE + c / 16 * TILE + i % SIDE / 2 * SIDE + c % 16 * 2 + i % 2] = to_bf16(x);
        }
}
void tiles_pack(int64_t k, int64_t n, const float *w, bool transposed, uint16_t *to)
{
#pragma omp parallel for schedule(static) if (k * n > WORTH_THREADS)
    for (int64_t j = 0; j < n; j += SIDE) pack_panel(k, n, j, w, transposed, to + j * padded(k));
}

/* Computes one block of y, of which `rows` by `cols` elements exist. */
static void block(const gemm *g, const uint16_t *x, int64_t x_row, const uint16_t *panel, int64_t i, int64_t j)
{
    float sums[SIDE * SIDE] __attribute__((aligned(64)));
    int64_t rows = g->m - i < SIDE ? g->m - i : SIDE, cols = g->n - j < SIDE ? g->n - j : SIDE;
    uint16_t *y = (uint16_t *)g->y + i * g->n + j;
    if (g->bias || g->add) {
        memset(sums, 0, sizeof sums);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++)
                sums[r * SIDE + c] = (g->add ? from_bf16(y[r * g->n + c]) : 0) + (g->bias ? g->bias[j + c] : 0);
        tiles_load(sums, SIDE);
    } else
        tiles_zero();
    TILES_MULTIPLY(x, x_row * 2, SIDE, panel, 2 * TILE, blocks(g->k))
    tiles_store(sums, SIDE);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            float s = sums[r * SIDE + c];
            y[r * g->n + c] = to_bf16(g->relu && s < 0 ? 0 : s);
        }
}

/* Computes rows i0 .. i1 and columns j0 .. j1 of y; these are multiples of 32, except at the ends of y. */
static void part(const gemm *g, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    int64_t deep = padded(g->k);
    uint16_t *left = scratch((size_t)(deep * (SIDE + AT_ONCE)) * sizeof *left), *right = left + deep * SIDE;
    for (int64_t j = j0; j < j1; j += AT_ONCE) {
        int64_t end = j + AT_ONCE < j1 ? j + AT_ONCE : j1;
        for (int64_t q = j; q < end && !g->packed; q += SIDE)
            pack_panel(g->k, g->n, q, g->w, g->transposed, right + (q - j) * deep);
        const uint16_t *panels = g->packed ? (const uint16_t *)g->packed + j * deep : right;
        for (int64_t i = i0; i < i1; i += SIDE) {
            const uint16_t *x = (const uint16_t *)g->x + i * g->k;
            int64_t rows = g->m - i < SIDE ? g->m - i : SIDE, x_row = g->k;
            if (rows < SIDE || deep != g->k) { /* zeros behind the rows and the columns */
                memset(left, 0, (size_t)(deep * SIDE) * sizeof *left);
                for (int64_t r = 0; r < rows; r++) memcpy(left + r * deep, x + r * g->k, (size_t)g->k * sizeof *x);
                x = left, x_row = deep;
            }
            for (int64_t q = j; q < end; q += SIDE) block(g, x, x_row, panels + (q - j) * deep, i, q);
        }
    }
}

void tiles_rows(const gemm *g)
{
    enum { MANY = 64, WORTH = 1 << 20 };
#pragma omp parallel if (g->m * g->n * g->k > WORTH)
    {
        bool by_rows = g->packed && g->m >= MANY * omp_get_num_threads();
        int64_t from, to, all = by_rows ? g->m : g->n;
        my_part(blocks(all), &from, &to);
        from *= SIDE, to = to * SIDE < all ? to * SIDE : all;
        tiles_begin();
        if (by_rows)
            part(g, from, to, 0, g->n);
        else
            part(g, 0, g->m, from, to);
        tiles_end();
    }
}
#else
size_t tiles_packed_size(int64_t k, int64_t n) { return (size_t)(k * n); }
void tiles_pack(int64_t k, int64_t n, const float *w, bool transposed, uint16_t *to)
{
    (void)k, (void)n, (void)w, (void)transposed, (void)to;
}
void tiles_rows(const gemm *g) { (void)g; }
#endif
