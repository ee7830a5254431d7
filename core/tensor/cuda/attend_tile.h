/* attend_tile.h - shared by the attention kernels: assignment of tiles to warps, and rows as factors of products: bf16
 * rows by tensor cores, F32 rows by plain multiplications in the same layout. For kernels.
 *
 * Tiles. A sentence's rows are split into tiles of n rows. A table made once per batch (attend_tiles.cu) has an entry
 * of 32 bytes for each tile, with everything about it that a kernel needs. A warp reads the number of tiles and its own
 * entry; it skips empty sentences, of which a graph can have thousands. A grid fits the tiles of a usual batch; for a
 * batch of very short sentences, which has more tiles, warps loop. The dummy rows past the last offset are one more
 * sentence that sees nothing, which makes them zeros.
 *
 * Factors. A warp multiplies directly from device memory, without shared memory or barriers, for any sentence length;
 * neighbouring warps work on the same sentence and find its rows in the cache. Two tricks make every load 16 bytes per
 * lane. (1) A product over columns is a sum, so any column order shared by both factors works: lane t of four takes
 * columns 8 t .. 8 t + 7 of 32, its numbers for two steps of 16. (2) In a product over rows, column g of the right
 * factor's eight can be any column, as long as the result is put back there: of 64 columns lane g takes 8 g .. 8 g + 7
 * from its four rows, and step j multiplies the j-th of each. */
#ifndef ABLATE_CUDA_ATTEND_TILE_H
#define ABLATE_CUDA_ATTEND_TILE_H
#include "tensor/cuda/attention.h"
#include "tensor/cuda/vec8.h"

/* ---- tiles ---- */

struct span {
    int first, n;
}; /* rows of one side of a sentence */
DEVICE span span_of(const int32_t *off, int sentences, int rows, int b)
{
    int first = off[b], end = b < sentences ? off[b + 1] : rows;
    return span{first, end - first};
}

struct __align__(16) attend_place
{
    span own, other; /* the sentence's rows on the tiled side and on the other side */
    int first, n;    /* the tile: rows first .. first + n - 1 of the sentence */
    int sentence;    /* for the dummies: the number of sentences */
    int whole;       /* the tile is all of a short sentence (back_sentence) */
};
/* Entry i of a table. Before the entries, a table has the number of tiles, padded to the size of an entry. */
DEVICE attend_place place_in(const int32_t *table, int i) { return ((const attend_place *)table)[1 + i]; }

/* ---- grids and rows, on the host ---- */

#ifndef __CUDACC_RTC__
/* Returns an upper bound of the number of tiles, at least 1. */
static inline int64_t most_tiles(const gpu_attention *a, int64_t rows, int64_t tile)
{
    int64_t most = rows / tile + a->sentences + 1;
    return rows < 1 ? 1 : most < rows ? most : rows;
}
/* Tiles of a grid: `usual`, but at least as many as a GPU runs concurrently, and at most most_tiles. */
static inline int64_t tiles_at_once(const gpu_attention *a, int64_t rows, int64_t tile, int64_t usual)
{
    int64_t most = most_tiles(a, rows, tile), running = 16 * gpu_multiprocessors() / a->heads + 1,
            wanted = usual > running ? usual : running;
    return wanted < most ? wanted : most;
}
/* Tiles of a grid for one side; usual: 1.5 rows / tile, as for sentences of about two tiles. */
static inline int64_t side_at_once(const gpu_attention *a, int64_t rows, int64_t tile)
{
    return tiles_at_once(a, rows, tile, 3 * rows / (2 * tile));
}
/* A grid with `each` adjacent blocks (heads, or heads times parts) for every tile or group of tiles. */
static inline dim3 tile_grid(int64_t each, int64_t tiles)
{
    return dim3((unsigned)each, (unsigned)(tiles > 65535 ? 65535 : tiles));
}
#endif

/* The address of column `column` in row `row`; head 0's first column is column 0. */
template <class T> DEVICE T *at_row(const gpu_columns &x, int64_t row, int column)
{
    return (T *)x.at + row * x.stride + column;
}

/* ---- dropout ---- */

/* Bit j: the row's probability of key + j is kept, for j < n <= 32; key is a multiple of 8, so element numbers are too.
 * LANES neighbouring lanes compute it together; all 32 lanes of the warp must take part. */
template <int LANES> DEVICE unsigned keep32(const gpu_attention &a, philox_key k, int64_t row, int head, int key, int n)
{
    FRESH(k.seed_low);
    FRESH(k.seed_high);
    FRESH(head);
    FRESH(key);
    /* rows times heads fit in 31 bits (ops_attention.c) */
    uint64_t first =
        (uint64_t)((unsigned)row * (unsigned)a.heads + (unsigned)head) * (ATTEND_KEYS / 8) + (unsigned)key / 8;
    unsigned bits = 0;
    for (int i = (int)threadIdx.x % LANES; 8 * i < n; i += LANES)
        bits |= keep_words(first + (unsigned)i, k, a.drop.least) << 8 * i;
    for (int o = 1; o < LANES; o *= 2) bits |= __shfl_xor_sync(0xffffffffu, bits, o);
    return bits;
}

/* ---- factors of one warp: lane = 4 g + t ---- */

DEVICE float low_of(unsigned pair) { return __uint_as_float(pair << 16); }
DEVICE float high_of(unsigned pair) { return __uint_as_float(pair & 0xffff0000u); }

/* Loads N words from p (2 or 4: 8 or 16 bytes); zeros if not `there`. */
template <int N> DEVICE void take_words(unsigned (&w)[N], const bf16 *p, bool there)
{
    if (N == 4) {
        uint4 x = there ? *(const uint4 *)p : make_uint4(0, 0, 0, 0);
        w[0] = x.x, w[1] = x.y, w[N - 2] = x.z, w[N - 1] = x.w;
    } else {
        uint2 x = there ? *(const uint2 *)p : uint2{0, 0};
        w[0] = x.x, w[1] = x.y;
    }
}

DEVICE void load_four(float (&v)[4], const float *p, bool there)
{
    float4 x = there ? *(const float4 *)p : make_float4(0, 0, 0, 0);
    v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}

/* Rows x [n <= 16, width <= D], zeros elsewhere, as the left factor of products over columns. */
template <class T, int D> struct left_rows;
template <int D> struct left_rows<bf16, D> {
    unsigned a[D / 16][4];
    GPU_MEMBER left_rows(const bf16 *x, int stride, int n, int width)
    {
        int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
        UNROLL for (int c = 0; c < D / 32; c++)
        {
            int column = 32 * c + 8 * t;
            unsigned up[4], down[4];
            take_words(up, x + g * stride + column, g < n && column < width);
            take_words(down, x + (g + 8) * stride + column, g + 8 < n && column < width);
            UNROLL for (int i = 0; i < 4; i++)
            {
                a[2 * c + i / 2][2 * (i % 2)] = up[i];
                a[2 * c + i / 2][2 * (i % 2) + 1] = down[i];
            }
        }
    }
};
template <int D> struct left_rows<float, D> { /* float rows are read in place */
    const float *x;
    int stride, n;
    GPU_MEMBER left_rows(const float *rows, int step, int many, int) : x(rows), stride(step), n(many) {}
};

/* s [16, 8 N] += a x' over columns; x [n, width], zeros elsewhere. */
template <int D, int N>
DEVICE void add_scores(float (&s)[N][4], const left_rows<bf16, D> &left, const bf16 *x, int stride, int n, int width)
{
    int lane = threadIdx.x & 31;
    FRESH(lane);
    FRESH(stride);
    int g = lane >> 2, t = lane & 3;
    UNROLL for (int j = 0; j < N; j++)
    {
        UNROLL for (int c = 0; c < D / 32; c++)
        {
            int row = 8 * j + g, column = 32 * c + 8 * t;
            unsigned w[4];
            take_words(w, x + row * stride + column, row < n && column < width);
            UNROLL for (int i = 0; i < 2; i++)
            {
                unsigned b[2] = {w[2 * i], w[2 * i + 1]};
                mma_16816(s[j], left.a[2 * c + i], b);
            }
        }
    }
}

template <int D, int N>
DEVICE void add_scores(float (&s)[N][4], const left_rows<float, D> &left, const float *x, int stride, int n, int width)
{
    int lane = threadIdx.x & 31;
    FRESH(lane);
    FRESH(stride);
    int g = lane >> 2, t = lane & 3;
    for (int c = 0; c < min((int)D, width); c += 4) {
        float up[4], down[4], b[4];
        load_four(up, left.x + g * left.stride + c, g < left.n);
        load_four(down, left.x + (g + 8) * left.stride + c, g + 8 < left.n);
        UNROLL for (int j = 0; j < N; j++) UNROLL for (int i = 0; i < 2; i++)
        {
            int row = 8 * j + 2 * t + i;
            load_four(b, x + row * stride + c, row < n);
            UNROLL for (int k = 0; k < 4; k++)
            {
                s[j][i] = fmaf(up[k], b[k], s[j][i]);
                s[j][2 + i] = fmaf(down[k], b[k], s[j][2 + i]);
            }
        }
    }
}

/* o [16, D] += a x over 16 rows from `first`; x [n, width], zeros elsewhere. Columns of o: in trick (2)'s order. */
template <int D>
DEVICE void add_rows(float (&o)[D / 8][4], const unsigned (&a)[4], int lane, const bf16 *x, int stride, int first,
                     int n, int width)
{
    constexpr int EACH = D < 64 ? D / 8 : 8; /* neighbouring columns per lane */
    int g = lane >> 2, t = lane & 3;
    UNROLL for (int part = 0; part < D / 8 / EACH; part++)
    {
        unsigned w[4][EACH / 2];
        int column = EACH * (8 * part + g);
        UNROLL for (int i = 0; i < 4; i++)
        {
            int row = first + 2 * t + i % 2 + i / 2 * 8;
            take_words(w[i], x + row * stride + column, row < n && column < width);
        }
        UNROLL for (int i = 0; i < EACH / 2; i++)
        {
            unsigned low[2] = {(w[0][i] & 0xffffu) | w[1][i] << 16, (w[2][i] & 0xffffu) | w[3][i] << 16};
            unsigned high[2] = {w[0][i] >> 16 | (w[1][i] & 0xffff0000u), w[2][i] >> 16 | (w[3][i] & 0xffff0000u)};
            mma_16816(o[EACH * part + 2 * i], a, low);
            mma_16816(o[EACH * part + 2 * i + 1], a, high);
        }
    }
}

/* o += p x over rows; p [16, 8 N] from add_scores, rounded to bf16. */
template <int D, int N>
DEVICE void add_product(float (&o)[D / 8][4], const float (&p)[N][4], const bf16 *x, int stride, int n, int width)
{
    int lane = threadIdx.x & 31;
    FRESH(lane);
    FRESH(stride);
    UNROLL for (int m = 0; m < N / 2; m++)
    {
        const float *even = p[2 * m], *odd = p[2 * m + 1];
        unsigned a[4] = {bf16_pair(even[0], even[1]), bf16_pair(even[2], even[3]), bf16_pair(odd[0], odd[1]),
                         bf16_pair(odd[2], odd[3])};
        add_rows<D>(o, a, lane, x, stride, 16 * m, n, width);
    }
}

template <int D, int N>
DEVICE void add_product(float (&o)[D / 8][4], const float (&p)[N][4], const float *x, int stride, int n, int width)
{
    int lane = threadIdx.x & 31;
    FRESH(lane);
    FRESH(stride);
    int t = lane & 3;
    UNROLL for (int j = 0; j < N; j++) UNROLL for (int i = 0; i < 2; i++) for (int from = 0; from < 4; from++)
    {
        int row = 8 * j + 2 * from + i, source = (lane & ~3) | from;
        float up = __shfl_sync(0xffffffffu, p[j][i], source), down = __shfl_sync(0xffffffffu, p[j][2 + i], source);
        if (row >= n) continue;
        UNROLL for (int m = 0; m < D / 8; m++)
        {
            int column = 8 * m + 2 * t;
            float2 b = column < width ? *(const float2 *)(x + row * stride + column) : float2{0, 0};
            o[m][0] = fmaf(up, b.x, o[m][0]), o[m][1] = fmaf(up, b.y, o[m][1]);
            o[m][2] = fmaf(down, b.x, o[m][2]), o[m][3] = fmaf(down, b.y, o[m][3]);
        }
    }
}

/* Writes o to rows y [n, width]: row g times `up`, row g + 8 times `down`. */
template <int D>
DEVICE void give(const float (&o)[D / 8][4], float up, float down, bf16 *y, int stride, int n, int width)
{
    constexpr int EACH = D < 64 ? D / 8 : 8;
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    UNROLL for (int part = 0; part < D / 8 / EACH; part++) UNROLL for (int i = 0; i < 4; i++)
    {
        int row = g + i / 2 * 8, column = EACH * (8 * part + 2 * t + i % 2);
        float by = i < 2 ? up : down;
        if (row >= n || column >= width) continue;
        unsigned w[EACH / 2];
        UNROLL for (int j = 0; j < EACH / 2; j++) w[j] =
            bf16_pair(o[EACH * part + 2 * j][i] * by, o[EACH * part + 2 * j + 1][i] * by);
        store_words(y + row * stride + column, w);
    }
}

template <int D>
DEVICE void give(const float (&o)[D / 8][4], float up, float down, float *y, int stride, int n, int width)
{
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    UNROLL for (int m = 0; m < D / 8; m++) UNROLL for (int r = 0; r < 2; r++)
    {
        int row = g + 8 * r, column = 8 * m + 2 * t;
        float by = r ? down : up;
        if (row >= n || column >= width) continue;
        unsigned w[2] = {__float_as_uint(o[m][2 * r] * by), __float_as_uint(o[m][2 * r + 1] * by)};
        store_words(y + row * stride + column, w);
    }
}

/* Sums over the four lanes t: a row's numbers from add_scores. */
DEVICE float four_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
DEVICE float four_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

/* ---- the running softmax of a tile's rows g and g + 8 ---- */

#define LOG2_E 1.44269504f

struct running {
    float top[2], sum[2]; /* largest exponent of 2; sum relative to 2^top */
};

/* Turns the scores of one tile of keys, times `scale`, into probabilities, not yet divided by their sum. worth: the
 * factor by which to multiply earlier sums. sees(r, j, i): does row g + 8 r see the key of column 8 j + 2 t + i? */
template <int N, class SEES> DEVICE void soften(float (&s)[N][4], running &w, float (&worth)[2], float scale, SEES sees)
{
    UNROLL for (int r = 0; r < 2; r++)
    {
        float top = w.top[r], sum = 0;
        UNROLL for (int j = 0; j < N; j++) UNROLL for (int i = 0; i < 2; i++)
        {
            float *x = &s[j][2 * r + i];
            *x = sees(r, j, i) ? *x * scale : LOWEST;
            top = fmaxf(top, *x);
        }
        top = four_max(top);
        UNROLL for (int j = 0; j < N; j++) UNROLL for (int i = 0; i < 2; i++)
        {
            float *x = &s[j][2 * r + i];
            *x = exp2f(*x - top);
            sum += *x;
        }
        worth[r] = exp2f(w.top[r] - top);
        w.top[r] = top;
        w.sum[r] = w.sum[r] * worth[r] + four_sum(sum);
    }
}

/* Applies dropout to the weights of keys from `key` on; row: the tile's first row. By a whole warp. */
template <int N>
DEVICE void drop_weights(float (&s)[N][4], const gpu_attention &a, philox_key dice, int64_t row, int head, int key,
                         int keys)
{
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    UNROLL for (int part = 0; part < N; part += 4) /* 32 keys */
    {
        int from = key + 8 * part;
        unsigned keep = keep32<2>(a, dice, row + lane / 2, head, from, min(32, keys - from));
        UNROLL for (int r = 0; r < 2; r++)
        {
            unsigned bits = __shfl_sync(0xffffffffu, keep, 2 * g + 16 * r) >> 2 * t;
            UNROLL for (int j = 0; j < 4; j++) UNROLL for (int i = 0; i < 2; i++) if (!(bits >> (8 * j + i) & 1))
                s[part + j][2 * r + i] = 0;
        }
    }
}

/* Sets `by` to the factor of each row's sum of values. The warp with the head's first columns (`first`) writes lse. */
DEVICE void finish(const running &w, float (&by)[2], const gpu_attention &a, int64_t row, int head, int n, bool first)
{
    int lane = threadIdx.x & 31, g = lane >> 2;
    UNROLL for (int r = 0; r < 2; r++)
    {
        const float ln_2 = 0.693147181f;
        by[r] = w.sum[r] > 0 ? a.drop.scale / w.sum[r] : 0;
        if (lane % 4 == 0 && first && g + 8 * r < n)
            a.lse[(row + g + 8 * r) * a.heads + head] = w.sum[r] > 0 ? w.top[r] * ln_2 + logf(w.sum[r]) : 0;
    }
}

/* For heads wider than a warp: replaces x by the sum over W warps, with equal bits in all. A whole block calls it. */
template <int W, int N> DEVICE void add_warps(float (&x)[N][4])
{
    if constexpr (W > 1) {
        __shared__ float part[W][4 * N][32];
        int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        __syncthreads(); /* all threads have read the previous sum */
        UNROLL for (int i = 0; i < 4 * N; i++) part[warp][i][lane] = x[i / 4][i % 4];
        __syncthreads();
        UNROLL for (int i = 0; i < 4 * N; i++) x[i / 4][i % 4] = part[0][i][lane];
        for (int w = 1; w < W; w++) UNROLL for (int i = 0; i < 4 * N; i++) x[i / 4][i % 4] += part[w][i][lane];
    }
}
#endif
