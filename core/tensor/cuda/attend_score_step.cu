/* attend_score_step.cu - one decoding step with an interpreted score program.
 *
 * A block has one row and one head: it writes the scores of all keys to device memory, runs the program over them, and
 * computes the weights and the weighted sum. Results do not depend on the number of rows.
 */
#include "tensor/cuda/score_tile.h"

namespace
{
enum { STEP_WARPS = 4, STEP_THREADS = 32 * STEP_WARPS };

/* Start of the keys and values at position j of the row's past, without the head's offset. */
template <class T> DEVICE const T *past_of(const gpu_attention_step &a, int64_t row, int j, int time)
{
    int64_t kv_width = (int64_t)a.heads * (a.d_k + a.d_v), q_width = (int64_t)a.heads * a.d_k;
    if (j == time) return (const T *)a.qkv + row * (kv_width + q_width) + q_width;
    return (const T *)a.cache + (a.ancestors[row * a.capacity + j] * a.capacity + j) * kv_width;
}

template <class F>
DEVICE void step_scores(const F &program, const gpu_score &f, int64_t row, int head, float *s, int time)
{
    for (int first = SCORE_AT_ONCE * (int)threadIdx.x; first <= time; first += SCORE_AT_ONCE * STEP_THREADS) {
        score_pairs p;
        float x[SCORE_AT_ONCE];
        p.sentence = (int)row, p.head = head;
        UNROLL for (int e = 0; e < SCORE_AT_ONCE; e++)
        {
            p.query[e] = 0, p.key[e] = min(first + e, time);
            x[e] = s[p.key[e]];
        }
        program.forward(f, p, x);
        UNROLL for (int e = 0; e < SCORE_AT_ONCE; e++) if (first + e <= time) s[first + e] = x[e];
    }
}

/* z [n] = weights summed by id: thread i sums the ids equal to i, in order. */
DEVICE void step_counts(float *z, int64_t n, const int32_t *ids, const float *p, int time)
{
    for (int64_t i = threadIdx.x; i < n; i += STEP_THREADS) {
        float sum = 0;
        for (int j = 0; j <= time; j++) sum += ids[j] == i ? p[j] : 0;
        z[i] = sum;
    }
}

template <class T, class F>
__global__ void __launch_bounds__(STEP_THREADS)
    score_step(const __grid_constant__ gpu_attention_step a, const __grid_constant__ gpu_score f, float *scores)
{
    DYN_SMEM(float4, shared);
    __shared__ float part[STEP_WARPS][ATTEND_WIDEST];
    F program(shared);
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, head = (int)(blockIdx.x % (unsigned)a.heads), time = *a.time;
    int64_t row = blockIdx.x / (unsigned)a.heads, kv_width = (int64_t)a.heads * (a.d_k + a.d_v),
            q_width = (int64_t)a.heads * a.d_k;
    int k_column = head * a.d_k, v_column = (int)q_width + head * a.d_v;
    T *y = (T *)a.y + (row * a.heads + head) * a.d_v;
    if (time < 0 || time >= a.capacity) {
        for (int c = threadIdx.x; c < a.d_v; c += STEP_THREADS) store(y + c, __uint_as_float(0x7fc00000u));
        return;
    }
    const T *q = (const T *)a.qkv + row * (kv_width + q_width) + k_column, *own = past_of<T>(a, row, time, time);
    T *kept = (T *)a.cache + (row * a.capacity + time) * kv_width; /* no other block reads this position in this step */
    for (int c = threadIdx.x; c < a.d_k; c += STEP_THREADS) kept[k_column + c] = own[k_column + c];
    for (int c = threadIdx.x; c < a.d_v; c += STEP_THREADS) kept[v_column + c] = own[v_column + c];

    float *s = scores + (row * a.heads + head) * a.capacity;
    for (int j = warp; j <= time; j += STEP_WARPS) {
        const T *k = past_of<T>(a, row, j, time) + k_column;
        float dot = 0;
        for (int c = lane; c < a.d_k; c += 32) dot += load(q + c) * load(k + c);
        dot = warp_sum(dot);
        if (lane == 0) s[j] = dot * a.scale;
    }
    __syncthreads();
    step_scores(program, f, row, head, s, time);
    __syncthreads();
    float high = f.sink < 0 ? -1e30f : sink_of(f, (int)row, head, 0), sum = 0, sink = high;
    for (int j = threadIdx.x; j <= time; j += STEP_THREADS) high = fmaxf(high, s[j]);
    high = block_max<STEP_WARPS>(high);
    if (f.sink >= 0 && threadIdx.x == 0) sum = expf(sink - high);
    for (int j = threadIdx.x; j <= time && !f.plain; j += STEP_THREADS) sum += s[j] = expf(s[j] - high);
    float by = f.plain ? 1 : 1 / block_sum<STEP_WARPS>(sum);
    for (int j = threadIdx.x; j <= time; j += STEP_THREADS) s[j] *= by;
    __syncthreads();
    for (int c = lane; c < a.d_v; c += 32) {
        float total = 0;
        for (int j = warp; j <= time; j += STEP_WARPS) total += s[j] * load(past_of<T>(a, row, j, time) + v_column + c);
        part[warp][c] = total;
    }
    __syncthreads();
    for (int c = threadIdx.x; c < a.d_v; c += STEP_THREADS) {
        float total = 0;
        for (int w = 0; w < STEP_WARPS; w++) total += part[w][c];
        store(y + c, total);
    }
    if (f.counts) step_counts(f.counts + (row * a.heads + head) * f.counts_head, f.counts_row, f.ids, s, time);
}
} // namespace

template <class T> static int run(const gpu_attention_step *a, const gpu_score *f, float *scores)
{
    size_t shared = (size_t)(f->n_registers + SCORE_WORKING) * 2 * sizeof(float4) * STEP_THREADS;
    return LAUNCH((score_step<T, score_interpreter>), dim3((unsigned)a->rows * (unsigned)a->heads), dim3(STEP_THREADS),
                  shared, *a, *f, scores);
}

extern "C" int gpu_ATTEND_PROGRAM_STEP(const gpu_attention_step *a, const gpu_score *f, float *scores)
{
    if (!a->rows || !a->heads) return 0;
    return a->type == F32 ? run<float>(a, f, scores) : run<bf16>(a, f, scores);
}
