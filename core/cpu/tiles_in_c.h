/* tiles_in_c.h - AMX tiles of sixteen rows of 64 bytes in plain C, so that their kernels are tested on any machine. TDPBF16PS as in
 * Intel's Software Developer's Manual: sums of the even and of the odd products of a row, then both added to c; numbers below
 * 2^-126 count as zero. */
#ifndef ABLATE_CPU_TILES_IN_C_H
#define ABLATE_CPU_TILES_IN_C_H
#include <math.h>
#include <stdint.h>
#include <string.h>

static _Thread_local uint32_t c_tile[8][16][16];

static inline float c_tile_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
static inline void c_tile_load(int t, const void *from, size_t row)
{
    for (int r = 0; r < 16; r++) memcpy(c_tile[t][r], (const char *)from + (size_t)r * row, 64);
}
static inline void c_tile_store(int t, void *to, size_t row)
{
    for (int r = 0; r < 16; r++) memcpy((char *)to + (size_t)r * row, c_tile[t][r], 64);
}
static inline void c_tile_multiply(int c, int a, int b)
{
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n++) {
            float even = 0, odd = 0, sum;
            for (int k = 0; k < 16; k++) {
                uint32_t x = c_tile[a][m][k], y = c_tile[b][k][n];
                even = fmaf(c_tile_float(x << 16), c_tile_float(y << 16), even);
                odd = fmaf(c_tile_float(x & 0xffff0000), c_tile_float(y & 0xffff0000), odd);
            }
            memcpy(&sum, &c_tile[c][m][n], sizeof sum);
            sum += even + odd;
            memcpy(&c_tile[c][m][n], &sum, sizeof sum);
        }
}
#define TILE_LOAD(t, from, row)  c_tile_load(t, from, (size_t)(row))
#define TILE_STORE(t, to, row)   c_tile_store(t, to, (size_t)(row))
#define TILE_ZERO(t)             memset(c_tile[t], 0, sizeof c_tile[t])
#define TILE_MULTIPLY(c, a, b)   c_tile_multiply(c, a, b)
#define TILE_CONFIGURE(c)        (void)(c)
#define TILE_RELEASE()           (void)0
#endif
