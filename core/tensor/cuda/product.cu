/* product.cu - products by kernels of our own: F32 by fused multiply-add, BF16 by tensor cores, tiles of 64 x 64.
 *
 * An element's sum runs over k in rising order in one thread (or one fragment), whatever m and n are: its bits depend
 * on its row of a and its column of b only. The next tiles are fetched into registers while the present ones are
 * multiplied.
 */
#include "tensor/cuda/product.h"
#include "tensor/cuda/vec8.h"

enum { TILE = 64 };

struct operand {
    const void *at;
    int64_t row, lines,
        step;    /* row, step: elements to the next stored row and matrix; lines: length of the axis that is not k */
    bool along;  /* numbers at k and k + 1 are adjacent in memory */
    bool vector; /* 16 bytes at a time are possible */
};
struct own_call {
    product p;
    operand a, b;
};

/* Loads N neighbours (16 bytes) along the adjacent axis, starting at line `line` and depth `depth`; zeros outside. */
template <int N, class T>
DEVICE void fetch(const operand &o, const T *p, int64_t k, int64_t line, int64_t depth, T v[N])
{
    int64_t left = line < o.lines && depth < k ? (o.along ? k - depth : o.lines - line) : 0;
    p += o.along ? line * o.row + depth : depth * o.row + line;
    if (o.vector && left >= N) {
        lanes<T, N> t = *(const lanes<T, N> *)p;
        UNROLL for (int j = 0; j < N; j++) v[j] = t.v[j];
    } else {
        UNROLL for (int j = 0; j < N; j++) v[j] = j < left ? p[j] : T(0);
    }
}

template <class O> DEVICE void finish(const own_call &q, int64_t row, int64_t column, float sum)
{
    const product &p = q.p;
    if (row >= q.a.lines || column >= q.b.lines) return;
    O *c = (O *)p.c + blockIdx.z * p.step_c + row * p.row_c + column;
    float y = p.alpha * sum;
    if (p.beta != 0) y += p.beta * load(c);
    if (p.bias) y += load((const O *)p.bias + column);
    if (p.positive && !(load((const O *)p.positive + (c - (O *)p.c)) > 0)) y = 0;
    store(c, p.relu ? fmaxf(y, 0.f) : y);
}

/* ---- F32: a thread has 4 x 4 elements ---- */

enum { F32_DEPTH = 16, F32_THREADS = 256 };

/* Where thread t's four numbers begin in a tile [16 depths][64 lines]; they are neighbours in depth (along) or in
 * lines. */
DEVICE void place_f32(bool along, int t, int *line, int *depth)
{
    *line = along ? t / 4 : t % 16 * 4;
    *depth = along ? t % 4 * 4 : t / 16;
}

__global__ void __launch_bounds__(F32_THREADS) product_f32(own_call q)
{
    __align__(16) __shared__ float as[F32_DEPTH][TILE + 4], bs[F32_DEPTH][TILE + 4];
    int t = (int)threadIdx.x, x = t % 16, y = t / 16, line_a, depth_a, line_b, depth_b;
    int64_t row = (int64_t)blockIdx.x * TILE, column = (int64_t)blockIdx.y * TILE;
    const float *a = (const float *)q.a.at + blockIdx.z * q.a.step, *b = (const float *)q.b.at + blockIdx.z * q.b.step;
    place_f32(q.a.along, t, &line_a, &depth_a);
    place_f32(q.b.along, t, &line_b, &depth_b);
    bool sums = q.p.sums && !blockIdx.x && t < TILE; /* also sum column t of this tile of b */
    float sum[4][4], va[4], vb[4], over_k = 0;
    UNROLL for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < 4; j++) sum[i][j] = 0;
    fetch<4>(q.a, a, q.p.k, row + line_a, depth_a, va);
    fetch<4>(q.b, b, q.p.k, column + line_b, depth_b, vb);
    for (int64_t k = 0; k < q.p.k; k += F32_DEPTH) {
        __syncthreads();
        UNROLL for (int j = 0; j < 4; j++)
        {
            as[depth_a + (q.a.along ? j : 0)][line_a + (q.a.along ? 0 : j)] = va[j];
            bs[depth_b + (q.b.along ? j : 0)][line_b + (q.b.along ? 0 : j)] = vb[j];
        }
        __syncthreads();
        fetch<4>(q.a, a, q.p.k, row + line_a, k + F32_DEPTH + depth_a, va);
        fetch<4>(q.b, b, q.p.k, column + line_b, k + F32_DEPTH + depth_b, vb);
        UNROLL for (int d = 0; d < F32_DEPTH; d++)
        {
            float4 u = *(const float4 *)&as[d][4 * y], w = *(const float4 *)&bs[d][4 * x];
            float left[4] = {u.x, u.y, u.z, u.w}, right[4] = {w.x, w.y, w.z, w.w};
            UNROLL for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < 4; j++) sum[i][j] += left[i] * right[j];
        }
        if (sums)
            for (int d = 0; d < F32_DEPTH; d++) over_k += bs[d][t];
    }
    if (sums && column + t < q.b.lines) q.p.sums[blockIdx.z * q.p.step_sums + column + t] = over_k;
    UNROLL for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < 4; j++)
        finish<float>(q, row + 4 * y + i, column + 4 * x + j, sum[i][j]);
}

/* ---- BF16: four warps, each 32 x 32 by fragments of 16 x 8 ---- */

/* 4 words of padding avoid bank conflicts */
enum { BF16_DEPTH = 32, BF16_THREADS = 128, BF16_WORDS = BF16_DEPTH / 2 + 4 };
union two_bf16 {
    uint16_t half[2];
    unsigned both;
};

/* Where thread t's group i (of 2) of eight numbers begins in a tile [64 lines][32 depths]. */
DEVICE void place_bf16(bool along, int t, int i, int *line, int *depth)
{
    int e = t + BF16_THREADS * i;
    *line = along ? e / 4 : e % 8 * 8;
    *depth = along ? e % 4 * 8 : e / 8;
}
DEVICE void fetch_bf16(const operand &o, const uint16_t *p, int64_t k, int64_t line, int64_t depth, uint16_t v[2][8])
{
    UNROLL for (int i = 0; i < 2; i++)
    {
        int l, d;
        place_bf16(o.along, (int)threadIdx.x, i, &l, &d);
        fetch<8>(o, p, k, line + l, depth + d, v[i]);
    }
}
DEVICE void put_bf16(bool along, two_bf16 tile[TILE][BF16_WORDS], const uint16_t v[2][8])
{
    UNROLL for (int i = 0; i < 2; i++)
    {
        int l, d;
        place_bf16(along, (int)threadIdx.x, i, &l, &d);
        if (along)
            UNROLL for (int j = 0; j < 4; j++) tile[l][d / 2 + j].both =
                (unsigned)v[i][2 * j] | (unsigned)v[i][2 * j + 1] << 16;
        else
            UNROLL for (int j = 0; j < 8; j++) tile[l + j][d / 2].half[d % 2] = v[i][j];
    }
}

template <class O> __global__ void __launch_bounds__(BF16_THREADS) product_bf16(own_call q)
{
    __align__(16) __shared__ two_bf16 as[TILE][BF16_WORDS];
    __align__(16) __shared__ two_bf16 bs[TILE][BF16_WORDS];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
    int top = warp / 2 * 32, left = warp % 2 * 32;
    int64_t row = (int64_t)blockIdx.x * TILE, column = (int64_t)blockIdx.y * TILE;
    const uint16_t *a = (const uint16_t *)q.a.at + blockIdx.z * q.a.step,
                   *b = (const uint16_t *)q.b.at + blockIdx.z * q.b.step;
    bool sums = q.p.sums && !blockIdx.x && threadIdx.x < TILE; /* also sum this thread's column of the tile of b */
    float sum[2][4][4], over_k = 0;
    uint16_t va[2][8], vb[2][8];
    UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) UNROLL for (int e = 0; e < 4; e++)
        sum[i][j][e] = 0;
    fetch_bf16(q.a, a, q.p.k, row, 0, va);
    fetch_bf16(q.b, b, q.p.k, column, 0, vb);
    for (int64_t k = 0; k < q.p.k; k += BF16_DEPTH) {
        __syncthreads();
        put_bf16(q.a.along, as, va);
        put_bf16(q.b.along, bs, vb);
        __syncthreads();
        fetch_bf16(q.a, a, q.p.k, row, k + BF16_DEPTH, va);
        fetch_bf16(q.b, b, q.p.k, column, k + BF16_DEPTH, vb);
        UNROLL for (int d = 0; d < BF16_DEPTH / 2; d += 8)
        { /* 8 words are 16 numbers, the depth of one mma */
            unsigned fa[2][4], fb[4][2];
            UNROLL for (int i = 0; i < 2; i++) UNROLL for (int e = 0; e < 4; e++) fa[i][e] =
                as[top + 16 * i + g + 8 * (e % 2)][d + t + 4 * (e / 2)].both;
            UNROLL for (int j = 0; j < 4; j++) UNROLL for (int e = 0; e < 2; e++) fb[j][e] =
                bs[left + 8 * j + g][d + t + 4 * e].both;
            UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) mma_16816(sum[i][j], fa[i], fb[j]);
        }
        if (sums)
            for (int d = 0; d < BF16_DEPTH / 2; d++) {
                unsigned two = bs[threadIdx.x][d].both;
                over_k += __uint_as_float(two << 16) + __uint_as_float(two & 0xffff0000u);
            }
    }
    if (sums && column + threadIdx.x < q.b.lines) q.p.sums[blockIdx.z * q.p.step_sums + column + threadIdx.x] = over_k;
    UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) UNROLL for (int e = 0; e < 4; e++)
        finish<O>(q, row + top + 16 * i + g + 8 * (e / 2), column + left + 8 * j + 2 * t + e % 2, sum[i][j][e]);
}

/* ---- launcher ---- */

static operand operand_of(const void *at, int64_t row, int64_t lines, int64_t step, bool along, int64_t eight)
{
    operand o = {at, row, lines, step, along, (uintptr_t)at % 16 == 0 && row % eight == 0 && step % eight == 0};
    return o;
}

extern "C" int gpu_own_product(const product *p)
{
    int64_t eight = p->type == BF16 ? 8 : 4, rows = (p->m + TILE - 1) / TILE, columns = (p->n + TILE - 1) / TILE;
    if (!p->m || !p->n || !p->batch) return gpu_launched();
    if (rows > INT32_MAX || columns > 65535 || p->batch > 65535)
        return gpu_refuse(
            "a product too large for our own kernel: at most 65535 tiles of 64 columns, a batch of 65535");
    if (!(p->type == F32 && p->type_c == F32) && !(p->type == BF16 && (p->type_c == F32 || p->type_c == BF16)))
        return gpu_refuse("a product of types that our own kernels do not support");
    own_call q = {*p, operand_of(p->a, p->row_a, p->m, p->step_a, !p->turn_a, eight),
                  operand_of(p->b, p->row_b, p->n, p->step_b, p->turn_b != 0, eight)};
    dim3 grid((unsigned)rows, (unsigned)columns, (unsigned)p->batch);
    if (p->type == F32) return LAUNCH(product_f32, grid, F32_THREADS, 0, q);
    return p->type_c == F32 ? LAUNCH(product_bf16<float>, grid, BF16_THREADS, 0, q)
                            : LAUNCH(product_bf16<bf16>, grid, BF16_THREADS, 0, q);
}
