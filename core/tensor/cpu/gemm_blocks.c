/* gemm_blocks.c - products of rows with a matrix: packing, blocks, threads. */
#include "tensor/cpu/gemm_tile.h"
#include "tensor/cpu/vectors.h"

enum { NC = 1024 / NR * NR, MC = 14 * MR * (64 / VEC) }; /* columns and rows of a block of y */

_Static_assert((int)L == (int)lanes_f32, "squares of whole vectors");

/* ---- packing ---- */

/* Packs rows k0 .. k0 + kc, columns j .. j + cols of w as floats [kc][NR]. */
static void panel_of_floats(int64_t k0, int64_t kc, int64_t j, int64_t cols, const float *w, int64_t ld,
                            bool transposed, float *to)
{
    if (cols < NR) memset(to, 0, (size_t)(kc * NR) * sizeof *to);
    if (!transposed) {
        const float *from = w + k0 * ld + j;
        for (int64_t i = 0; i < kc; i++, from += ld, to += NR) {
            if (cols == NR)
                ((vf *)to)[0] = ((const vf_at *)from)[0], ((vf *)to)[1] = *(const vf_at *)(from + L);
            else
                memcpy(to, from, (size_t)cols * sizeof *to);
        }
        return;
    }
    for (int64_t i = 0; i < kc; i += L)
        for (int64_t c = 0; c < cols; c += L) {
            int rows = (int)smaller(L, kc - i), width = (int)smaller(L, cols - c);
            turn_square_f32(to + i * NR + c, NR, w + (j + c) * ld + k0 + i, ld, width, rows);
        }
}

/* Packs columns from j on, all rows of w, as one panel of words. */
static void pack_panel(gemm_way way, int64_t k, int64_t n, int64_t j, const float *w, bool transposed, float *to)
{
    enum { SOME = 64 }; /* rows of w at a time */
    float some[SOME * NR] __attribute__((aligned(64)));
    int64_t ld = transposed ? k : n, cols = smaller(NR, n - j);
    if (way == WAY_F32) {
        panel_of_floats(0, k, j, cols, w, ld, transposed, to);
        return;
    }
    for (int64_t p = 0; p < k; p += SOME) {
        int64_t kc = smaller(SOME, k - p);
        panel_of_floats(p, kc, j, cols, w, ld, transposed, some);
        if (kc % 2) memset(some + kc * NR, 0, NR * sizeof *some);
        for (int64_t i = 0; i < kc; i += 2, to += way == WAY_PAIRS ? NR : 2 * NR)
            for (int64_t c = 0; c < NR; c++) {
                bf16 even = to_bf16(some[i * NR + c]), odd = to_bf16(some[(i + 1) * NR + c]);
                if (way == WAY_PAIRS)
                    to[c] = pair_of(even, odd);
                else
                    to[c] = from_bf16(odd), to[NR + c] = from_bf16(even);
            }
    }
}

size_t gemm_packed_size(gemm_way way, int64_t k, int64_t n)
{
    if (way == WAY_TILES) return tiles_packed_size(k, n);
    if (gemm_is_int8(way)) return int8_packed_size(way, k, n);
    return (size_t)(divide_up(n, NR) * NR * words_of(way, k)) * sizeof(float);
}
void gemm_pack(gemm_way way, int64_t k, int64_t n, const float *w, bool transposed, void *to)
{
    if (way == WAY_TILES) {
        tiles_pack(k, n, w, transposed, to);
        return;
    }
    if (gemm_is_int8(way)) {
        int8_pack(way, k, n, w, transposed, to);
        return;
    }
#pragma omp parallel for schedule(static) if (k * n > WORTH_THREADS)
    for (int64_t j = 0; j < n; j += NR) pack_panel(way, k, n, j, w, transposed, (float *)to + j * words_of(way, k));
}

/* ---- blocks of y ---- */

typedef struct { /* a block of y */
    int64_t i0, i1, j0, j1;
} area;
typedef struct {  /* a thread's working memory */
    float *strip; /* copies of rows of x whose addresses collide in the cache, [MR][KC] */
    float *right; /* columns of w that are packed for this call only */
    float *left;  /* [MC][KC] words of x: bf16 rows, and colliding rows if columns are packed */
    float *sums;  /* [MC][NC]: sums for bf16 rows, or for floats that only a reader gets; NULL: sums go to y */
} rooms;

/* Do rows this many floats apart share a set of the first-level cache, which has fewer lines than a strip has rows? */
static bool rows_collide(int64_t row) { return row * (int64_t)sizeof(float) % 4096 == 0; }
/* Copies colliding rows of x, kc words each, to `room`, KC apart; returns other rows in place. */
static const float *set_apart(const float *x, int64_t rows, int64_t kc, float *room, int64_t *row)
{
    if (rows <= 4 || !rows_collide(*row)) return x;
    for (int64_t i = 0; i < rows; i++) memcpy(room + i * KC, x + i * *row, (size_t)kc * sizeof *x);
    *row = KC;
    return room;
}

/* The words p .. p + kc of rows i0 .. i1 of x, rows *row floats apart: in place or in `room`. */
static const float *left_words(const gemm *g, int64_t i0, int64_t i1, int64_t p, int64_t kc, float *room, int64_t *row)
{
    *row = g->words                               ? words_of(g->way, g->k)
           : g->way == WAY_F32                    ? g->k
           : g->way == WAY_PAIRS && g->k % 2 == 0 ? g->k / 2
                                                  : KC;
    if (*row != KC || g->way == WAY_F32 || g->words) {
        const float *x = (g->words ? g->words : (const float *)g->x) + i0 * *row + p;
        return g->packed ? set_apart(x, i1 - i0, kc, room, row) : x;
    }
    for (int64_t i = i0; i < i1; i++) {
        const bf16 *x = (const bf16 *)g->x + i * g->k + (g->way == WAY_PAIRS ? 2 * p : p);
        float *to = room + (i - i0) * KC;
        int64_t numbers = g->way == WAY_PAIRS ? smaller(2 * kc, g->k - 2 * p) : smaller(kc, g->k - p), c = 0;
        if (g->way == WAY_PAIRS) {
            for (; c + 1 < numbers; c += 2) to[c / 2] = pair_of(x[c], x[c + 1]);
            if (c < numbers) to[c / 2] = pair_of(x[c], 0);
            continue;
        }
        for (; c + 1 < numbers; c += 2) {
            float even = from_bf16(x[c]), odd = from_bf16(x[c + 1]);
            to[c] = odd, to[c + 1] = even;
        }
        if (c < numbers) to[c] = 0, to[c + 1] = from_bf16(x[c]);
    }
    return room;
}

/* For g->add: makes c hold the start of a block's chains, y plus the bias if there is one. */
static void start_sums(const gemm *g, area b, float *c, int64_t c_row)
{
    for (int64_t i = b.i0; i < b.i1; i++) {
        float *to = c + (i - b.i0) * c_row;
        const bf16 *y = (const bf16 *)g->y + i * g->n + b.j0;
        for (int64_t j = 0; j < b.j1 - b.j0 && g->way != WAY_F32; j++) to[j] = from_bf16(y[j]);
        for (int64_t j = 0; j < b.j1 - b.j0 && g->bias; j++) to[j] += g->bias[b.j0 + j];
    }
}

/* The products of a block over KC words of each chain. */
typedef struct {
    const gemm *g;
    area b;
    const float *a; /* words of x */
    int64_t a_row, p, kc;
    const float *panels, *then; /* packed columns of w from j0 on; packed columns that are read next, or NULL */
    float *c;
    int64_t c_row, strips; /* strips: their number; the last is a longest one, others may have a row less */
} piece;
typedef struct {
    int64_t from, to; /* rows of the block */
    const float *a;
    int64_t a_row;
} strip;

static int64_t strip_from(const piece *w, int64_t s) { return (w->b.i1 - w->b.i0) * s / w->strips; }
static strip strip_of(const piece *w, int64_t s)
{
    int64_t from = strip_from(w, s);
    return (strip){from, strip_from(w, s + 1), w->a + from * w->a_row, w->a_row};
}

/* Enough panels to hide the latency of the chains, but no more than the remaining columns have. */
static int64_t panels_at_once(int64_t rows, int64_t columns)
{
    return rows == 1 && columns >= 4 * NR ? 4 : rows == 2 && columns >= 2 * NR ? 2 : 1;
}

/* Multiplies `side` panels from column j on with a strip; prefetches in steps of `step` floats. */
static void one_tile(const piece *w, const strip *x, int64_t j, int64_t side, const float *fetch, int64_t fetch_step)
{
    const gemm *g = w->g;
    bool floats = g->way == WAY_F32 || g->words;
    int64_t words = words_of(g->way, g->k), row = w->b.i0 + x->from;
    tile_job t = {.a = x->a,
                  .a_row = x->a_row,
                  .a_step = 1,
                  .b = w->panels + (j - w->b.j0) * words + w->p * NR,
                  .b_panel = words * NR,
                  .k = w->kc,
                  .c = w->c + x->from * w->c_row + j - w->b.j0,
                  .c_row = w->c_row,
                  .fetch = (const char *)fetch,
                  .fetch_step = fetch_step * (int64_t)sizeof(float)};
    t.next = t.c;
    if (w->p || g->add)
        t.start = t.c, t.start_row = w->c_row;
    else if (g->words)
        t.start = g->start ? g->start + j : NULL;
    else if (g->bias)
        t.start = g->bias + j;
    if (w->p + w->kc == words) {
        t.relu = g->relu;
        if (g->words) {
            t.row_scale = g->row_scale + row, t.col_scale = g->col_scale + j;
            t.bias = g->bias ? g->bias + j : NULL;
        }
        if (!floats) t.y16 = (uint16_t *)g->y + row * g->n + j, t.y16_row = g->n;
    }
    tile(tile_of(g->way), (int)(x->to - x->from), (int)side, w->b.j1 - j, &t);
}

/* Multiplies the first strip by all panels, then the next strip. The panels were packed just now and are in the
 * second-level cache; the words of the next strip are prefetched. Each tile prefetches a share: consecutive memory if
 * the strip's rows are no longer than kc, else row by row. */
static void by_strips(const piece *w, float *room)
{
    for (int64_t s = 0; s < w->strips; s++) {
        strip x = strip_of(w, s);
        int64_t next = s + 1 < w->strips ? strip_from(w, s + 2) - x.to : 0, tiles = 0;
        x.a = set_apart(x.a, x.to - x.from, w->kc, room, &x.a_row);
        for (int64_t j = w->b.j0, side; j < w->b.j1; j += side * NR, tiles++) {
            bool by_rows = w->a_row > w->kc;
            int64_t step = by_rows ? 1 : 8,
                    run = by_rows ? w->a_row : step * w->kc; /* half a cache line a step: memory keeps up */
            bool within = tiles * run < next * w->a_row;
            side = panels_at_once(x.to - x.from, w->b.j1 - j);
            one_tile(w, &x, j, side, within ? w->a + x.to * w->a_row + tiles * run : x.a, within ? step : 0);
        }
    }
}

/* Multiplies all strips by one panel, then by the next panel. Each strip prefetches a share of the next panel. */
static void by_panels(const piece *w)
{
    int64_t words = words_of(w->g->way, w->g->k), step = smaller(16, divide_up(NR, w->strips));
    for (int64_t j = w->b.j0, side; j < w->b.j1; j += side * NR) {
        side = panels_at_once(w->b.i1 - w->b.i0, w->b.j1 - j);
        const float *next = j + side * NR < w->b.j1 ? w->panels + (j + side * NR - w->b.j0) * words + w->p * NR
                            : w->p + w->kc < words  ? w->panels + (w->p + w->kc) * NR
                                                    : w->then;
        for (int64_t s = 0; s < w->strips; s++) {
            strip x = strip_of(w, s);
            one_tile(w, &x, j, side, next ? next + s * w->kc * step : x.a, next ? step : 0);
        }
    }
}

/* Computes a block of at most MC x NC. panels: packed columns of w from j0 on; then: panels to read next, or NULL. */
static void block(const gemm *g, area b, const float *panels, const float *then, const rooms *r)
{
    int64_t words = words_of(g->way, g->k);
    piece w = {.g = g,
               .b = b,
               .panels = panels,
               .then = then,
               .c = r->sums ? r->sums : (float *)g->y + b.i0 * g->n + b.j0,
               .c_row = r->sums ? NC : g->n,
               .strips = divide_up(b.i1 - b.i0, MR)};
    if (g->add) start_sums(g, b, w.c, w.c_row);
    for (; w.p < words; w.p += KC) {
        w.kc = smaller(KC, words - w.p);
        w.a = left_words(g, b.i0, b.i1, w.p, w.kc, r->left, &w.a_row);
        if (g->packed)
            by_panels(&w);
        else
            by_strips(&w, r->strip);
    }
}

/* Computes the part of y that one thread has. */
static void multiply(const gemm *g, area b)
{
    int64_t words = words_of(g->way, g->k), nc = g->packed ? NC : NC / 2, blocks = divide_up(b.i1 - b.i0, MC);
    bool floats = g->way == WAY_F32 || g->words, reads = g->reader && floats && g->packed && b.j1 - b.j0 == g->n;
    size_t right = g->packed ? 0 : (size_t)(words * nc), left = floats && !g->packed ? 0 : MC * KC,
           sums = floats && !reads ? 0 : MC * NC;
    rooms r = {.strip = scratch((MR * KC + right + left + sums) * sizeof(float))};
    r.right = r.strip + MR * KC, r.left = r.right + right, r.sums = sums ? r.left + left : NULL;
    for (int64_t j = b.j0; j < b.j1; j += nc) {
        int64_t j1 = smaller(j + nc, b.j1);
        for (int64_t q = j; q < j1 && !g->packed; q += NR)
            pack_panel(g->way, g->k, g->n, q, g->w, g->transposed, r.right + (q - j) * words);
        const float *panels = g->packed ? (const float *)g->packed + j * words : r.right;
        for (int64_t i = 0; i < blocks; i++) {
            area here = {b.i0 + (b.i1 - b.i0) * i / blocks, b.i0 + (b.i1 - b.i0) * (i + 1) / blocks, j, j1};
            const float *then = i + 1 < blocks ? panels : j1 < b.j1 ? panels + nc * words : NULL;
            block(g, here, panels, g->packed ? then : NULL, &r);
            if (reads) g->reader->columns(g->reader->self, r.sums, NC, here.i0, here.i1, j, j1);
        }
    }
}

void gemm_rows(const gemm *g)
{
    enum { MANY = 64 }; /* threads divide the rows if each gets this many */
    if (g->way == WAY_TILES) {
        tiles_rows(g);
        return;
    }
    if (gemm_is_int8(g->way) && !g->words) {
        int8_rows(g, gemm_rows);
        return;
    }
#pragma omp parallel if (g->m * g->n * g->k > WORTH_SHARING)
    {
        int64_t me = omp_get_thread_num(), all = omp_get_num_threads(), panels = divide_up(g->n, NR);
        if (g->packed && g->m >= MANY * all)
            multiply(g, (area){g->m * me / all, g->m * (me + 1) / all, 0, g->n});
        else /* threads divide the columns: each packs its own */
            multiply(g, (area){0, g->m, panels * me / all * NR, smaller(panels * (me + 1) / all * NR, g->n)});
    }
}
