/* reduce.cu - SUM_TO, SOFTMAX, SOFTMAX_BACK. The order of every sum depends on lengths alone. */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/threads.h"

namespace
{
/* y, contiguous, = sums of x: element (a, b) sums, over i < sum[0].n and j < sum[1].n, x[a keep[0].step + b
 * keep[1].step + i sum[0].step + j sum[1].step]. keep[1].step or sum[1].step is 1, unless that axis has length 1. */
struct sums : summed_axes {
    float *y;
    const float *x;
};

/* ---- SUM_TO: the last axis is summed ---- */

enum { PIECE = 4096 }; /* elements of a line that one warp sums; more if a line would have more than PIECE pieces */

/* Sum s of a grid: piece s % pieces of output s / pieces, by LANES threads. */
template <int LANES> __global__ void sum_to_lines(sums g, float *to, int64_t piece, int64_t pieces, int64_t n)
{
    int lane = LANES == 1 ? 0 : my_lane();
    int64_t first = LANES == 1 ? my_thread() : my_warp(), all = LANES == 1 ? all_threads() : all_warps();
    int64_t step_i = LANES / g.sum[1].n, step_j = LANES % g.sum[1].n, length = g.sum[0].n * g.sum[1].n;
    for (int64_t s = first; s < n; s += all) {
        int64_t o = s / pieces, at = s % pieces * piece + lane, end = (s % pieces + 1) * piece;
        int64_t i = at / g.sum[1].n, j = at % g.sum[1].n;
        const float *x = g.x + o / g.keep[1].n * g.keep[0].step + o % g.keep[1].n * g.keep[1].step;
        float sum = 0;
        if (end > length) end = length;
        for (; at < end; at += LANES) {
            sum += x[i * g.sum[0].step + j * g.sum[1].step];
            i += step_i, j += step_j;
            if (j >= g.sum[1].n) j -= g.sum[1].n, i++;
        }
        if (LANES > 1) sum = warp_sum(sum);
        if (!lane) to[s] = sum;
    }
}

int run_lines(const sums &g)
{
    enum { SHORT = 16 }; /* up to this length a thread sums a line: most of a warp would be idle */
    int64_t outputs = g.keep[0].n * g.keep[1].n, length = g.sum[0].n * g.sum[1].n;
    if (length <= SHORT)
        return LAUNCH(sum_to_lines<1>, blocks_for(outputs), THREADS, 0, g, g.y, length, (int64_t)1, outputs);
    int64_t piece = length <= (int64_t)PIECE * PIECE ? (int64_t)PIECE : (length + PIECE - 1) / PIECE;
    int64_t pieces = (length + piece - 1) / piece, n = outputs * pieces;
    float *to = pieces == 1 ? g.y : (float *)gpu_scratch(SCRATCH_SUMS, (size_t)n * sizeof(float));
    int rc = LAUNCH(sum_to_lines<32>, blocks_for_warps(n), THREADS, 0, g, to, piece, pieces, n);
    if (rc || pieces == 1) return rc;
    sums rest = {{{{1, 0}, {outputs, pieces}}, {{1, 0}, {pieces, 1}}}, g.y, to};
    return LAUNCH(sum_to_lines<32>, blocks_for_warps(outputs), THREADS, 0, rest, g.y, pieces, (int64_t)1, outputs);
}

/* ---- SUM_TO: the last axis is kept ---- */

/* A block sums `rows` rows of a strip of COLUMNS adjacent outputs into to[chunk][outputs]. */
template <int COLUMNS> __global__ void sum_to_columns(sums g, float *to, int64_t rows)
{
    enum { STEP = THREADS / COLUMNS };
    __shared__ float part[THREADS];
    int64_t strips = (g.keep[1].n + COLUMNS - 1) / COLUMNS, all = g.sum[0].n * g.sum[1].n, b = blockIdx.x;
    int64_t column = b % strips * COLUMNS + threadIdx.x % COLUMNS, a = b / strips % g.keep[0].n,
            chunk = b / strips / g.keep[0].n;
    int64_t row = chunk * rows + threadIdx.x / COLUMNS, end = (chunk + 1) * rows;
    int64_t i = row / g.sum[1].n, j = row % g.sum[1].n, step_i = STEP / g.sum[1].n, step_j = STEP % g.sum[1].n;
    const float *x = g.x + a * g.keep[0].step + column * g.keep[1].step;
    float sum = 0;
    if (end > all) end = all;
    if (column < g.keep[1].n)
        for (; row < end; row += STEP) {
            sum += x[i * g.sum[0].step + j * g.sum[1].step];
            i += step_i, j += step_j;
            if (j >= g.sum[1].n) j -= g.sum[1].n, i++;
        }
    part[threadIdx.x] = sum;
    for (int half = THREADS / 2; half >= COLUMNS; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x < COLUMNS && column < g.keep[1].n)
        to[(chunk * g.keep[0].n + a) * g.keep[1].n + column] = part[threadIdx.x];
}

template <int COLUMNS> int run_columns(const sums &g, bool whole)
{
    enum { ENOUGH = 1024, MINIMUM = 4 * THREADS / COLUMNS }; /* blocks that keep a GPU busy; fewest rows per block */
    int64_t outputs = g.keep[0].n * g.keep[1].n, all = g.sum[0].n * g.sum[1].n;
    int64_t blocks = g.keep[0].n * ((g.keep[1].n + COLUMNS - 1) / COLUMNS), chunks = ENOUGH / blocks;
    if (chunks > all / MINIMUM) chunks = all / MINIMUM;
    if (chunks < 1 || whole) chunks = 1;
    int64_t rows = (all + chunks - 1) / chunks;
    chunks = (all + rows - 1) / rows;
    float *to = chunks == 1 ? g.y : (float *)gpu_scratch(SCRATCH_SUMS, (size_t)(chunks * outputs) * sizeof(float));
    int rc = LAUNCH(sum_to_columns<COLUMNS>, dim3((unsigned)(blocks * chunks)), THREADS, 0, g, to, rows);
    if (rc || chunks == 1) return rc;
    sums rest = {{{{1, 0}, {outputs, 1}}, {{1, 0}, {chunks, outputs}}}, g.y, to};
    return outputs > 8 ? run_columns<32>(rest, true) : run_columns<8>(rest, true);
}

/* ---- SOFTMAX ---- */

/* e^(x - most); most: the row's largest. -infinity: no key is visible, so the weight is 0 (NaN stays NaN). */
DEVICE float weight(float x, float most) { return most == -INFINITY ? (x < 0 ? 0.f : x) : expf(x - most); }
DEVICE float scale_of(float sum, float most) { return most == -INFINITY ? 1.f : 1 / sum; }

/* Loads a row of at most 32 K V numbers into a warp's registers: K groups of V adjacent numbers per lane. */
template <int V, int K> DEVICE void load_row(const float *x, int n, float rest, float out[K][V])
{
    UNROLL for (int k = 0; k < K; k++)
    {
        int j = (k * 32 + my_lane()) * V;
        if (j < n)
            load_lanes<V>(x + j, out[k]);
        else
            UNROLL for (int i = 0; i < V; i++) out[k][i] = rest;
    }
}
template <int V, int K> DEVICE void store_row(float *y, int n, const float v[K][V])
{
    UNROLL for (int k = 0; k < K; k++)
    {
        int j = (k * 32 + my_lane()) * V;
        if (j < n) store_lanes<V>(y + j, v[k]);
    }
}

template <int V, int K> __global__ void softmax_warps(float *y, const float *x, int64_t rows, int n)
{
    for (int64_t r = my_warp(); r < rows; r += all_warps()) {
        float v[K][V], most = -INFINITY, sum = 0;
        load_row<V, K>(x + r * n, n, -INFINITY, v);
        UNROLL for (int k = 0; k < K; k++) UNROLL for (int i = 0; i < V; i++) most = fmaxf(most, v[k][i]);
        most = warp_max(most);
        UNROLL for (int k = 0; k < K; k++) UNROLL for (int i = 0; i < V; i++) sum += v[k][i] = weight(v[k][i], most);
        float over = scale_of(warp_sum(sum), most);
        UNROLL for (int k = 0; k < K; k++) UNROLL for (int i = 0; i < V; i++) v[k][i] *= over;
        store_row<V, K>(y + r * n, n, v);
    }
}
template <int V, int K>
__global__ void softmax_back_warps(float *dx, const float *y, const float *dy, int64_t rows, int n)
{
    for (int64_t r = my_warp(); r < rows; r += all_warps()) {
        float v[K][V], d[K][V], sum = 0;
        load_row<V, K>(y + r * n, n, 0, v);
        load_row<V, K>(dy + r * n, n, 0, d);
        UNROLL for (int k = 0; k < K; k++) UNROLL for (int i = 0; i < V; i++) sum += v[k][i] * d[k][i];
        sum = warp_sum(sum);
        UNROLL for (int k = 0; k < K; k++) UNROLL for (int i = 0; i < V; i++) v[k][i] *= d[k][i] - sum;
        store_row<V, K>(dx + r * n, n, v);
    }
}

/* Long rows: a block per row, read again from the cache. y may be x: a thread writes only what it reads. */
__global__ void softmax_blocks(float *y, const float *x, int64_t n)
{
    x += blockIdx.x * n, y += blockIdx.x * n;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < n; j += THREADS) most = fmaxf(most, x[j]);
    most = block_max<WARPS>(most);
    for (int64_t j = threadIdx.x; j < n; j += THREADS) sum += weight(x[j], most);
    float over = scale_of(block_sum<WARPS>(sum), most);
    for (int64_t j = threadIdx.x; j < n; j += THREADS) y[j] = weight(x[j], most) * over;
}
__global__ void softmax_back_blocks(float *dx, const float *y, const float *dy, int64_t n)
{
    y += blockIdx.x * n, dy += blockIdx.x * n, dx += blockIdx.x * n;
    float sum = 0;
    for (int64_t j = threadIdx.x; j < n; j += THREADS) sum += y[j] * dy[j];
    sum = block_sum<WARPS>(sum);
    for (int64_t j = threadIdx.x; j < n; j += THREADS) dx[j] = y[j] * (dy[j] - sum);
}

/* Runs the kernel with as many groups per lane as n <= 1024 needs. */
template <int V, int K = 1> int run_warps(float *out, const float *y, const float *dy, int64_t rows, int64_t n)
{
    if constexpr (32 * V * K < 1024)
        if (n > 32 * V * K) return run_warps<V, 2 * K>(out, y, dy, rows, n);
    dim3 grid = blocks_for_warps(rows);
    return dy ? LAUNCH((softmax_back_warps<V, K>), grid, THREADS, 0, out, y, dy, rows, (int)n)
              : LAUNCH((softmax_warps<V, K>), grid, THREADS, 0, out, y, rows, (int)n);
}

/* dy NULL: forward. */
int run_softmax(float *out, const float *x, const float *dy, int64_t rows, int64_t n)
{
    if (rows <= 0 || n <= 0) return gpu_launched();
    if (n > 1024) {
        if (rows >= (int64_t)1 << 31)
            return gpu_refuse("a softmax of 2147483648 rows or more that are longer than 1024");
        dim3 grid((unsigned)rows);
        return dy ? LAUNCH(softmax_back_blocks, grid, THREADS, 0, out, x, dy, n)
                  : LAUNCH(softmax_blocks, grid, THREADS, 0, out, x, n);
    }
    return n % 4 == 0 && aligned16(out, x, dy) ? run_warps<4>(out, x, dy, rows, n) : run_warps<1>(out, x, dy, rows, n);
}
} // namespace

/* The order of a sum depends only on lengths, with batch_invariant only on the lengths of summed axes. */
int cuda_SUM_TO(const call *k, err *e)
{
    const view *x = &k->i.SUM_TO.x, *y = &k->o.SUM_TO.y;
    if (x->type != F32 || y->type != F32) return no_kernel(k, e);
    sums s = {{}, data_of(y), data_of(x)};
    bool lines = sort_axes(x, y, &s);
    if (s.keep[0].n * s.keep[1].n <= 0) return launched(gpu_launched(), e);
    if (s.sum[0].n * s.sum[1].n <= 0) {
        gpu_zero(y->data, bytes_of(y));
        return launched(gpu_launched(), e);
    }
    return launched(lines                                   ? run_lines(s)
                    : k->batch_invariant || s.keep[1].n > 8 ? run_columns<32>(s, k->batch_invariant)
                                                            : run_columns<8>(s, false),
                    e);
}

/* A row of only -inf (no visible key) gives zeros, and a row of zeros y gives zeros for dx. */
int cuda_SOFTMAX(const call *k, err *e)
{
    const view *x = &k->i.SOFTMAX.x, *y = &k->o.SOFTMAX.y;
    if (x->type != F32 || y->type != F32) return no_kernel(k, e);
    return launched(run_softmax(data_of(y), data_of(x), nullptr, rows_of(y), width_of(y)), e);
}
int cuda_SOFTMAX_BACK(const call *k, err *e)
{
    const view *y = &k->i.SOFTMAX_BACK.y, *dy = &k->i.SOFTMAX_BACK.dy, *dx = &k->o.SOFTMAX_BACK.y;
    if (y->type != F32 || dy->type != F32 || dx->type != F32) return no_kernel(k, e);
    return launched(run_softmax(data_of(dx), data_of(y), data_of(dy), rows_of(dx), width_of(dx)), e);
}
