/* gemm_outer.c - the gradient of weights, c = x' y: rows are summed over, so both factors are packed, some hundred rows at a time. */
#include "cpu/gemm_words.h"

enum { WIDE = 512 / NR * NR, TALL = 4 * MR }; /* columns of y and of x that are packed at a time */
enum { PAD = 16 };                            /* floats behind a packed panel */

/* Vector of words i (a pair of rows for pairs; one row in the order of pairs when widened) at columns c and on. What lies behind
 * column `end` of the row is not read. */
INLINE vf words_at(gemm_way way, const void *x, int64_t ld, int64_t rows, int64_t i, int64_t c, int64_t end)
{
    static const bf16 zeros[L];
    bf16 some[2][L] = {{0}};
    size_t here = (size_t)smaller(L, end - c);
    if (way == WAY_F32) {
        const float *from = (const float *)x + i * ld + c;
        if (here == L) return *(const vf_at *)from;
        float part[L] = {0};
        memcpy(part, from, here * sizeof *part);
        return *(const vf_at *)part;
    }
    int64_t row = way == WAY_PAIRS ? 2 * i : i / 2 * 2;
    const bf16 *even = (const bf16 *)x + row * ld + c, *odd = row + 1 < rows ? even + ld : zeros;
    if (here < L) {
        memcpy(some[0], even, here * sizeof *even);
        if (row + 1 < rows) memcpy(some[1], odd, here * sizeof *odd);
        even = some[0], odd = some[1];
    }
    vu high = __builtin_convertvector(*(const vh_at *)odd, vu) << 16, low = __builtin_convertvector(*(const vh_at *)even, vu);
    if (way == WAY_PAIRS) return (vf)(high | low);
    return (vf)(i % 2 ? low << 16 : high);
}

/* Columns c0 .. c1 of x [rows,ld] as panels [words][width]. Whole vectors are written: what falls behind a word's columns is
 * overwritten by the next word, and PAD takes the last. */
INLINE void pack(gemm_way way, const void *x, int64_t ld, int64_t rows, int64_t c0, int64_t c1, const int width, float *to)
{
    int64_t words = words_of(way, rows);
    for (int64_t i = 0; i < words; i++)
        for (int64_t c = c0; c < c1; c += width)
            for (int v = 0; v < width && c + v < ld; v += L)
                *(vf_at *)(to + (c - c0) / width * (words * width + PAD) + i * width + v) = words_at(way, x, ld, rows, i, c + v, ld);
}
#define PACK(side, width)                                                                                                            \
    static void pack_##side(gemm_way way, const void *x, int64_t ld, int64_t rows, int64_t c0, int64_t c1, float *to)              \
    {                                                                                                                              \
        if (way == WAY_F32)                                                                                                        \
            pack(WAY_F32, x, ld, rows, c0, c1, width, to);                                                                         \
        else if (way == WAY_WIDENED)                                                                                               \
            pack(WAY_WIDENED, x, ld, rows, c0, c1, width, to);                                                                     \
        else                                                                                                                       \
            pack(WAY_PAIRS, x, ld, rows, c0, c1, width, to);                                                                       \
    }
PACK(left, MR)
PACK(right, NR)

typedef struct {
    gemm_way way;
    int64_t m, k, n;
    const char *x, *y;
    float *c;
} product;

/* Columns i0 .. i1 of packed x by columns j0 .. j1 of packed y, over `words` words; later: c holds the sums of rows before. */
static void multiply(const product *p, int64_t words, bool later, int64_t i0, int64_t i1, int64_t j0, int64_t j1, const float *left,
                     const float *right)
{
    for (int64_t i = i0; i < i1; i += MR)
        for (int64_t j = j0; j < j1; j += NR) {
            float *c = p->c + i * p->n + j;
            tile_job t = {.a = left + (i - i0) / MR * (words * MR + PAD),
                          .a_row = 1,
                          .a_step = MR,
                          .b = right + (j - j0) / NR * (words * NR + PAD),
                          .k = words,
                          .c = c,
                          .c_row = p->n,
                          .start = later ? c : NULL,
                          .start_row = p->n,
                          .fetch = (const char *)c};
            tile(p->way, (int)smaller(MR, i1 - i), 1, j1 - j, &t);
        }
}

/* Rows k0 .. k1 and columns n0 .. n1 of c. */
static void part(const product *p, int64_t k0, int64_t k1, int64_t n0, int64_t n1)
{
    int64_t one = p->way == WAY_F32 ? sizeof(float) : sizeof(bf16), some = p->way == WAY_PAIRS ? 2 * KC : KC; /* rows at a time */
    float *right = scratch((size_t)(WIDE * KC + WIDE / NR * PAD + TALL * KC + TALL / MR * PAD + PAD) * sizeof *right),
          *left = right + WIDE * KC + WIDE / NR * PAD;
    for (int64_t j = n0; j < n1; j += WIDE)
        for (int64_t r = 0; r < p->m; r += some) {
            int64_t rows = smaller(some, p->m - r), words = words_of(p->way, rows), j1 = smaller(j + WIDE, n1);
            pack_right(p->way, p->y + r * p->n * one, p->n, rows, j, j1, right);
            for (int64_t i = k0; i < k1; i += TALL) {
                int64_t i1 = smaller(i + TALL, k1);
                pack_left(p->way, p->x + r * p->k * one, p->k, rows, i, i1, left);
                multiply(p, words, r > 0, i, i1, j, j1, left, right);
            }
        }
}

void gemm_outer(gemm_way way, int64_t m, int64_t k, int64_t n, const void *x, const void *y, float *c)
{
    product p = {way, m, k, n, x, y, c};
    if (way == WAY_TILES) {
        tiles_outer(m, k, n, x, y, c);
        return;
    }
#pragma omp parallel if (m * n * k > WORTH_SHARING)
    {
        int64_t me = omp_get_thread_num(), all = omp_get_num_threads(), panels = divide_up(n, NR), strips = divide_up(k, MR);
        if (n >= k) /* the wider side is shared out: its packing is not done twice */
            part(&p, 0, k, panels * me / all * NR, smaller(panels * (me + 1) / all * NR, n));
        else
            part(&p, strips * me / all * MR, smaller(strips * (me + 1) / all * MR, k), 0, n);
    }
}
