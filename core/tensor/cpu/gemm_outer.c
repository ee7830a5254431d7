/* gemm_outer.c - the gradient of weights, c = x' y: a sum over rows, so both factors are packed, some hundred rows at a
 * time. */
#include "tensor/cpu/gemm_tile.h"

/* columns of y and of x that are packed at a time: some lines of each row in one go */
enum { WIDE = 1024 / NR * NR, TALL = 224 / MR * MR };
/* floats behind a packed panel; columns of x at most that are read where they lie */
enum { PAD = 16, NEAR = 256 };

/* The first n < L floats, zeros behind. */
INLINE vf part_of(const float *from, int n)
{
#if VEC == 64
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), from);
#else
    float part[L] = {0};
    memcpy(part, from, (size_t)n * sizeof *part);
    return *(const vf_at *)part;
#endif
}
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

/* Vector of words i (a pair of rows for pairs; one row in the order of pairs when widened) at columns c and on. What
 * lies behind column `end` of the row is not read. */
INLINE vf words_at(gemm_way way, const void *x, int64_t ld, int64_t rows, int64_t i, int64_t c, int64_t end)
{
    int here = (int)smaller(L, end - c);
    if (way == WAY_F32) {
        const float *from = (const float *)x + i * ld + c;
        if (here < L) return part_of(from, here);
        return *(const vf_at *)from;
    }
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

/* Columns c0 .. c1 of x [rows,ld] as panels [words][width]. Whole vectors are written: what falls behind a word's
 * columns is overwritten by the next word, and PAD takes the last. */
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

/* The columns of x that come next are brought into the second-level cache while others are multiplied, a line of each
 * row a tile: rows lie far apart, where the machine does not see the pattern. */
typedef struct {
    const char *at;     /* the next line of the first row */
    int64_t lines, row; /* lines that are left; bytes from row to row */
    int64_t rows, r;    /* of a word; whose line is next */
} ahead;
static ahead look_ahead(const product *p, int64_t row, int64_t c0, int64_t c1)
{
    int64_t one = p->way == WAY_F32 ? sizeof(float) : sizeof(bf16);
    const char *from = p->x + (row * p->k + c0) * one, *line = from - (uintptr_t)from % LINE;
    return (ahead){.at = line,
                   .lines = divide_up(from + (c1 - c0) * one - line, LINE),
                   .row = p->k * one,
                   .rows = p->way == WAY_PAIRS ? 2 : 1};
}
static void fetch_line(ahead *a, tile_job *t)
{
    if (!a->lines) return;
    t->fetch = a->at + a->r * a->row;
    t->fetch_step = a->rows * a->row;
    if (++a->r < a->rows) return;
    a->r = 0, a->at += LINE, a->lines--;
}

/* Columns i0 .. i1 of x, packed in `left` or (NULL) where they lie from row r on, by columns j0 .. j1 of packed y, over
 * `words` words. */
static void multiply(const product *p, int64_t words, int64_t r, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                     const float *left, const float *right, ahead *next)
{
    for (int64_t i = i0; i < i1; i += MR)
        for (int64_t j = j0; j < j1; j += NR) {
            float *c = p->c + i * p->n + j;
            tile_job t = {.a = left ? left + (i - i0) / MR * (words * MR + PAD) : (const float *)p->x + r * p->k + i,
                          .a_row = 1,
                          .a_step = left ? MR : p->k,
                          .b = right + (j - j0) / NR * (words * NR + PAD),
                          .k = words,
                          .c = c,
                          .c_row = p->n,
                          .start = r ? c : NULL,
                          .start_row = p->n,
                          .fetch = (const char *)c};
            fetch_line(next, &t);
            tile(tile_of(p->way), (int)smaller(MR, i1 - i), 1, j1 - j, &t);
        }
}

/* Rows k0 .. k1 and columns n0 .. n1 of c. */
static void part(const product *p, int64_t k0, int64_t k1, int64_t n0, int64_t n1)
{
    /* rows at a time */
    int64_t one = p->way == WAY_F32 ? sizeof(float) : sizeof(bf16), some = p->way == WAY_PAIRS ? 2 * KC : KC;
    float *right = scratch((size_t)(WIDE * KC + WIDE / NR * PAD + TALL * KC + TALL / MR * PAD + PAD) * sizeof *right),
          *left = right + WIDE * KC + WIDE / NR * PAD;
    bool in_place = p->way == WAY_F32 && p->k <= NEAR;
    for (int64_t j = n0; j < n1; j += WIDE)
        for (int64_t r = 0; r < p->m; r += some) {
            int64_t rows = smaller(some, p->m - r), words = words_of(p->way, rows), j1 = smaller(j + WIDE, n1);
            pack_right(p->way, p->y + r * p->n * one, p->n, rows, j, j1, right);
            for (int64_t i = k0; i < k1; i += TALL) {
                int64_t i1 = smaller(i + TALL, k1);
                if (!in_place) pack_left(p->way, p->x + r * p->k * one, p->k, rows, i, i1, left);
                ahead next = {.lines = 0};
                if (i1 < k1)
                    next = look_ahead(p, r, i1, smaller(i1 + TALL, k1));
                else if (r + some < p->m)
                    next = look_ahead(p, r + some, k0, smaller(k0 + TALL, k1));
                multiply(p, words, r, i, i1, j, j1, in_place ? NULL : left, right, &next);
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
        if (n >= k) /* the wider side is shared out: its packing is not done twice */
            part(&p, 0, k, panels * me / all * NR, smaller(panels * (me + 1) / all * NR, n));
        else
            part(&p, strips * me / all * MR, smaller(strips * (me + 1) / all * MR, k), 0, n);
    }
}
