/* gemm_tile.h - the tile of sums kept in registers, for floats and pairs of bf16. */
#ifndef ABLATE_CPU_GEMM_TILE_H
#define ABLATE_CPU_GEMM_TILE_H
#include "tensor/cpu/gemm_words.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define KIND(name)   PASTE(name, WORDS)

#define TARGET
#define WORDS         floats
#define STEP(s, b, a) s += (b) * (a)
#include "tensor/cpu/gemm_kernel.inc"
#undef WORDS
#undef STEP
#ifdef __AVX512BF16__
#define WORDS         pairs
#define STEP(s, b, a) s = (vf)_mm512_dpbf16_ps((__m512)(s), (__m512bh)(b), (__m512bh)_mm512_set1_ps(a))
#include "tensor/cpu/gemm_kernel.inc"
#undef WORDS
#undef STEP
#else
#define tile_pairs tile_floats
#endif
#undef TARGET

typedef void (*tile_fn)(int rows, int panels, const tile_job *t);
/* A panel with fewer than NR columns: sums go to a buffer instead of c. */
static void tile_at_edge(tile_fn f, int rows, int cols, const tile_job *t)
{
    float c[MR * NR] __attribute__((aligned(64))) = {0};
    float bias[NR] = {0};
    uint16_t y16[MR * NR];
    tile_job here = *t;
    here.c = c, here.c_row = NR;
    if (t->start) {
        for (int r = 0; r < rows; r++) memcpy(c + r * NR, t->start + r * t->start_row, (size_t)cols * sizeof *c);
        here.start = c, here.start_row = NR;
    }
    if (t->y16) here.y16 = y16, here.y16_row = NR;
    if (t->bias) memcpy(bias, t->bias, (size_t)cols * sizeof *bias), here.bias = bias;
    f(rows, 1, &here);
    for (int r = 0; r < rows; r++)
        if (t->y16)
            memcpy(t->y16 + r * t->y16_row, y16 + r * NR, (size_t)cols * sizeof *y16);
        else
            memcpy(t->c + r * t->c_row, c + r * NR, (size_t)cols * sizeof *c);
}

/* rows times `panels` panels, or times the last `cols` < NR columns. */
static void tile(tile_fn f, int rows, int panels, int64_t cols, const tile_job *t)
{
    if (cols >= NR)
        f(rows, panels, t);
    else
        tile_at_edge(f, rows, (int)cols, t);
}
#endif
