/* select.cu - log-sum-exp and the k largest of rows of logits.
 *
 * A block has one row and reads it once: every thread keeps the sum and the best of its own part, the ids i, i + threads ... in
 * pieces of 16 bytes. Then the best of the bests is taken k times; each time only the part it came from is looked at again, by
 * its warp together, for the next best there. Choices are compared as whole numbers that no two ids share (rank), so equal
 * logits go by id and the order of the threads does not matter.
 */
#include "cuda/select.h"
#include "cuda/gpu.h"

enum { THREADS = 512, FEW_THREADS = 128 };
#define LOWEST (-3e38f)

/* Larger for a likelier choice, among equal ones for the lower id; never 0. */
__device__ __forceinline__ uint64_t rank_of(float logit, int id)
{
    unsigned u = __float_as_uint(logit + 0.f); /* -0 becomes 0 */
    u = u & 0x80000000u ? ~u : u | 0x80000000u;
    return (uint64_t)u << 32 | ~(unsigned)id;
}
__device__ __forceinline__ gpu_choice choice_of(uint64_t rank)
{
    unsigned u = (unsigned)(rank >> 32);
    u = u & 0x80000000u ? u & 0x7fffffffu : ~u;
    return rank ? gpu_choice{__uint_as_float(u), (int32_t) ~(unsigned)rank} : gpu_choice{-INFINITY, -1};
}
__device__ __forceinline__ uint64_t warp_best(uint64_t x)
{
    for (int o = 16; o; o >>= 1) {
        uint64_t y = __shfl_xor_sync(0xffffffffu, x, o);
        x = y > x ? y : x;
    }
    return x;
}

template <int N> struct __align__(N * 4) piece_f32 { float x[N]; };
template <int N> struct __align__(N * 2) piece_bf16 { bf16 x[N]; };
template <int N> __device__ __forceinline__ void take_piece(const float *p, float (&x)[N])
{
    piece_f32<N> t = *(const piece_f32<N> *)p;
    UNROLL for (int i = 0; i < N; i++) x[i] = t.x[i];
}
template <int N> __device__ __forceinline__ void take_piece(const bf16 *p, float (&x)[N])
{
    piece_bf16<N> t = *(const piece_bf16<N> *)p;
    UNROLL for (int i = 0; i < N; i++) x[i] = to_float(t.x[i]);
}

struct choosing { /* a row */
    const uint8_t *allowed; /* or NULL */
    int v, never, nor;
};
/* The choice's rank, 0 when it may not be chosen. */
__device__ __forceinline__ uint64_t rank_in(const choosing &c, float logit, int id)
{
    bool may = logit > -INFINITY && id != c.never && id != c.nor && (!c.allowed || c.allowed[id]);
    return may ? rank_of(logit, id) : 0;
}

/* The best after `last` of one thread's part, by its whole warp. */
template <class T, int N>
__device__ __forceinline__ uint64_t next_best(const T *x, const choosing &c, uint64_t last, int thread)
{
    uint64_t best = 0;
    int lane = threadIdx.x & 31;
    for (int at = (thread + lane * (int)blockDim.x) * N; at < c.v; at += 32 * (int)blockDim.x * N)
        UNROLL for (int i = 0; i < N; i++) {
            uint64_t r = rank_in(c, load(x + at + i), at + i);
            if (r < last && r > best) best = r;
        }
    return warp_best(best);
}

/* N divides v, and x is a multiple of N numbers. */
template <class T, int N>
__global__ void __launch_bounds__(THREADS) select_best(const T *logits, const uint8_t *allowed, int64_t v, int never, int nor, int k,
                                                       gpu_choice *best, double *log_sum)
{
    __shared__ uint64_t bests[32];
    __shared__ float tops[32];
    __shared__ double sums[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (int)blockDim.x / 32;
    const T *x = logits + blockIdx.x * v;
    choosing c = {allowed ? allowed + blockIdx.x * v : nullptr, (int)v, never, nor};

    float top = LOWEST, sum = 0;
    uint64_t mine = 0;
    for (int at = (int)threadIdx.x * N; at < c.v; at += (int)blockDim.x * N) {
        float y[N], high = top, part = 0;
        take_piece<N>(x + at, y);
        UNROLL for (int i = 0; i < N; i++) high = fmaxf(high, y[i]);
        if (high > top) sum *= __expf(top - high), top = high;
        UNROLL for (int i = 0; i < N; i++) {
            part += __expf(y[i] - top);
            uint64_t r = rank_in(c, y[i], at + i);
            mine = r > mine ? r : mine;
        }
        sum += part;
    }

    float high = warp_max(top);
    uint64_t warps_best = warp_best(mine);
    if (lane == 0) tops[warp] = high, bests[warp] = warps_best;
    __syncthreads();
    high = warp_max(lane < warps ? tops[lane] : LOWEST);
    double all = (double)(sum * __expf(top - high));
    for (int o = 16; o; o >>= 1) all += __shfl_xor_sync(0xffffffffu, all, o);
    if (lane == 0) sums[warp] = all;
    __syncthreads();
    if (threadIdx.x == 0) {
        double total = 0;
        for (int w = 0; w < warps; w++) total += sums[w];
        log_sum[blockIdx.x] = (double)high + log(total);
    }

    gpu_choice *out = best + (int64_t)blockIdx.x * k;
    for (int n = 0; n < k; n++) {
        uint64_t found = warp_best(lane < warps ? bests[lane] : 0);
        gpu_choice choice = choice_of(found);
        if (threadIdx.x == 0) out[n] = choice;
        __syncthreads(); /* all have seen the best */
        int thread = choice.id / N % (int)blockDim.x;
        if (found && warp == thread / 32) {
            uint64_t next = next_best<T, N>(x, c, found, thread);
            if (lane == thread % 32) mine = next;
            warps_best = warp_best(mine);
            if (lane == 0) bests[warp] = warps_best;
        }
        __syncthreads();
    }
}

template <class T, int N>
static int run(int64_t rows, int64_t v, const T *logits, const uint8_t *allowed, const int32_t never[2], int k, gpu_choice *best,
               double *log_sum)
{
    int threads = v > 8 * FEW_THREADS * N ? THREADS : FEW_THREADS;
    return LAUNCH((select_best<T, N>), dim3((unsigned)rows), dim3(threads), 0, logits, allowed, v, never[0], never[1], k, best, log_sum);
}

extern "C" int gpu_select_best(int type, int64_t rows, int64_t v, const void *logits, const uint8_t *allowed, const int32_t never[2],
                               int k, gpu_choice *best, double *log_sum)
{
    if (k < 0 || k > SELECT_MOST) return gpu_refuse("a choice of more than 64 tokens of a row");
    if (v < 1 || v > 1 << 30) return gpu_refuse("a choice among no tokens, or more than 2^30");
    if (!rows) return 0;
    bool whole = (uintptr_t)logits % 16 == 0;
    if (type == 0) {
        const float *x = (const float *)logits;
        return whole && v % 4 == 0 ? run<float, 4>(rows, v, x, allowed, never, k, best, log_sum)
                                   : run<float, 1>(rows, v, x, allowed, never, k, best, log_sum);
    }
    const bf16 *x = (const bf16 *)logits;
    return whole && v % 8 == 0 ? run<bf16, 8>(rows, v, x, allowed, never, k, best, log_sum)
                               : run<bf16, 1>(rows, v, x, allowed, never, k, best, log_sum);
}
