/* gemm_outer.c - the gradient of weights, c = x' y: sums over rows. Packs both factors, some hundred rows at a time. */
#include "tensor/cpu/gemm_tile.h"
#include "tensor/cpu/vectors.h"

/* columns of y and of x, and words of their rows, packed at a time: packed y stays in the second-level cache */
enum { WIDE = 1024 / NR * NR, TALL = 224 / MR * MR, DEEP = 192 };
enum { PAD = 16 }; /* floats behind a packed panel */

/* Loads the first n < L numbers, then zeros. */
INLINE vh halves_of(const bf16 *from, int n)
{
#if VEC == 64
    return (vh)_mm256_maskz_loadu_epi16((__mmask16)((1u << n) - 1), from);
#else
    bf16 part[L] = {0};
    memcpy(part, from, (size_t)n * sizeof *part);
    return *(const vh_at *)part;
#endif
}

/* Word i of a vector of columns from c on: for WAY_PAIRS a pair of rows; if widened, one row, odd rows before even
 * ones. Does not read behind column `end` of the row. */
INLINE vf words_at(gemm_way way, const void *x, int64_t ld, int64_t rows, int64_t i, int64_t c, int64_t end)
{
    int here = (int)smaller(L, end - c);
    if (way == WAY_F32) return (vf)load_some_f32((const float *)x + i * ld + c, here);
    int64_t row = way == WAY_PAIRS ? 2 * i : i / 2 * 2;
    const bf16 *from = (const bf16 *)x + row * ld + c;
    vh even, odd = {0};
    if (here < L)
        even = halves_of(from, here);
    else
        even = *(const vh_at *)from;
    if (row + 1 < rows) {
        if (here < L)
            odd = halves_of(from + ld, here);
        else
            odd = *(const vh_at *)(from + ld);
    }
    vu high = __builtin_convertvector(odd, vu) << 16, low = __builtin_convertvector(even, vu);
    if (way == WAY_PAIRS) return (vf)(high | low);
    return (vf)(i % 2 ? low << 16 : high);
}

/* Packs columns c0 .. c1 of x [rows,ld] as panels [words][width]. Writes whole vectors: each word overwrites the
 * numbers that the word before wrote beyond its width; PAD is room for the last word's. */
INLINE void pack(gemm_way way, const void *x, int64_t ld, int64_t rows, int64_t c0, int64_t c1, const int width,
                 float *to)
{
    int64_t words = words_of(way, rows);
    for (int64_t i = 0; i < words; i++)
        for (int64_t c = c0; c < c1; c += width)
            for (int v = 0; v < width && c + v < ld; v += L)
                *(vf_at *)(to + (c - c0) / width * (words * width + PAD) + i * width + v) =
                    words_at(way, x, ld, rows, i, c + v, ld);
}
#define PACK(side, width)                                                                                              \
    static void pack_##side(gemm_way way, const void *x, int64_t ld, int64_t rows, int64_t c0, int64_t c1, float *to)  \
    {                                                                                                                  \
        if (way == WAY_F32)                                                                                            \
            pack(WAY_F32, x, ld, rows, c0, c1, width, to);                                                             \
        else if (way == WAY_WIDENED)                                                                                   \
            pack(WAY_WIDENED, x, ld, rows, c0, c1, width, to);                                                         \
        else                                                                                                           \
            pack(WAY_PAIRS, x, ld, rows, c0, c1, width, to);                                                           \
    }
PACK(left, MR)
PACK(right, NR)

typedef struct {
    gemm_way way;
    int64_t m, k, n;
    const char *x, *y;
    float *c;
} product;

/* Prefetches the next rows of x and y into the second-level cache while others are multiplied. Each step of a tile
 * fetches a few bytes, so that the tile's own loads do not wait. */
typedef struct {
    const char *at; /* first row */
    int64_t bytes, row, rows,
        in; /* bytes of a row; bytes from row to row; rows left; bytes of the first row that are fetched */
} ahead;
static ahead look_ahead(const void *from, int64_t one, int64_t ld, int64_t rows, int64_t c0, int64_t c1)
{
    ahead a = {(const char *)from + c0 * one, (c1 - c0) * one, ld * one, rows, 0};
    if (a.bytes == a.row) a.bytes *= rows, a.rows = rows > 0;
    return a;
}
/* Lets the tile prefetch at most `step` bytes per step. False if nothing is left. */
static bool fetch_some(ahead *a, int64_t step, tile_job *t)
{
    if (a->rows <= 0) return false;
    t->fetch = a->at + a->in;
    t->fetch_step = smaller(step, divide_up(a->bytes - a->in, t->k));
    a->in += t->fetch_step * t->k;
    if (a->in >= a->bytes) a->in = 0, a->at += a->row, a->rows--;
    return true;
}

/* Multiplies columns i0 .. i1 of packed x with columns j0 .. j1 of packed y, over `words` words, from row r on. */
static void multiply_packed(const product *p, int64_t words, int64_t r, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                            const float *left, const float *right, ahead next[2], int64_t step)
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
                          .next = j + NR < j1   ? c + NR
                                  : i + MR < i1 ? p->c + (i + MR) * p->n + j0
                                                : c,
                          .start = r ? c : NULL,
                          .start_row = p->n,
                          .fetch = (const char *)c};
            (void)(fetch_some(&next[0], step, &t) || fetch_some(&next[1], step, &t));
            tile(tile_of(p->way), (int)smaller(MR, i1 - i), 1, j1 - j, &t);
        }
}

/* Computes rows k0 .. k1 and columns n0 .. n1 of c. */
static void part(const product *p, int64_t k0, int64_t k1, int64_t n0, int64_t n1)
{
    int64_t one = p->way == WAY_F32 ? sizeof(float) : sizeof(bf16),
            some = p->way == WAY_PAIRS ? 2 * DEEP : DEEP; /* rows at a time */
    float *right =
              scratch((size_t)(WIDE * DEEP + WIDE / NR * PAD + TALL * DEEP + TALL / MR * PAD + PAD) * sizeof *right),
          *left = right + WIDE * DEEP + WIDE / NR * PAD;
    for (int64_t j = n0; j < n1; j += WIDE)
        for (int64_t r = 0; r < p->m; r += some) {
            int64_t rows = smaller(some, p->m - r), words = words_of(p->way, rows), j1 = smaller(j + WIDE, n1),
                    more = smaller(some, p->m - r - rows);
            const char *x = p->x + r * p->k * one, *y = p->y + r * p->n * one;
            ahead next[] = {look_ahead(y + rows * p->n * one, one, p->n, more, j, j1),
                            look_ahead(x + rows * p->k * one, one, p->k, more, k0, k1)};
            int64_t bytes = (k1 - k0 + j1 - j) * more * one,
                    steps = divide_up(k1 - k0, MR) * divide_up(j1 - j, NR) * words,
                    step = smaller(LINE / 4, divide_up(bytes, steps));
            pack_right(p->way, y, p->n, rows, j, j1, right);
            for (int64_t i = k0; i < k1; i += TALL) {
                int64_t i1 = smaller(i + TALL, k1);
                pack_left(p->way, x, p->k, rows, i, i1, left);
                multiply_packed(p, words, r, i, i1, j, j1, left, right, next, step);
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
        int64_t me = omp_get_thread_num(), all = omp_get_num_threads(), panels = divide_up(n, NR),
                strips = divide_up(k, MR);
        if (n >= k) /* threads divide the longer side of c; each packs the whole shorter one */
            part(&p, 0, k, panels * me / all * NR, smaller(panels * (me + 1) / all * NR, n));
        else
            part(&p, strips * me / all * MR, smaller(strips * (me + 1) / all * MR, k), 0, n);
    }
}
