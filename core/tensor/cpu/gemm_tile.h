/* gemm_tile.h - the tile of sums kept in registers. */
#ifndef ABLATE_CPU_GEMM_TILE_H
#define ABLATE_CPU_GEMM_TILE_H
#include "tensor/cpu/gemm_words.h"

/* Passed as the number of panels, with MR rows only: multiplies by only the first L columns of one panel. */
enum { HALF_PANEL = 0 };
/* Multiplies rows with `panels` panels: gemm_kernels.c; pairs of bf16: gemm_pairs.c, for sets that multiply bf16. */
typedef void (*tile_fn)(int rows, int panels, const tile_job *t);
void tile_floats(int rows, int panels, const tile_job *t);
void tile_shorts(int rows, int panels, const tile_job *t);
void tile_bytes(int rows, int panels, const tile_job *t);
tile_fn tile_of(gemm_way way);

/* Multiplies by a panel with fewer than NR columns: sums go to a buffer, whose valid columns are copied to c. */
static __attribute__((unused)) void tile_at_edge(tile_fn f, int rows, int cols, const tile_job *t)
{
    float c[MR * NR] __attribute__((aligned(64))) = {0};
    float bias[NR] = {0};
    uint16_t y16[MR * NR];
    tile_job here = *t;
    here.c = c, here.c_row = NR, here.next = c;
    if (t->start) {
        for (int r = 0; r < rows; r++) memcpy(c + r * NR, t->start + r * t->start_row, (size_t)cols * sizeof *c);
        here.start = c, here.start_row = NR;
    }
    if (t->y16) here.y16 = y16, here.y16_row = NR;
    if (t->bias) memcpy(bias, t->bias, (size_t)cols * sizeof *bias), here.bias = bias;
    f(rows, cols <= L && rows == MR ? HALF_PANEL : 1, &here);
    for (int r = 0; r < rows; r++)
        if (t->y16)
            memcpy(t->y16 + r * t->y16_row, y16 + r * NR, (size_t)cols * sizeof *y16);
        else
            memcpy(t->c + r * t->c_row, c + r * NR, (size_t)cols * sizeof *c);
}

/* Multiplies rows with `panels` panels, or with the last panel if fewer than NR columns (`cols`) are left. */
static __attribute__((unused)) void tile(tile_fn f, int rows, int panels, int64_t cols, const tile_job *t)
{
    if (cols >= NR)
        f(rows, panels, t);
    else
        tile_at_edge(f, rows, (int)cols, t);
}
#endif
