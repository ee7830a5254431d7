/* positions.cu - TO_FLOAT, RELATIVE_POSITION, CLIPPED_RELATIVE_POSITION and MASK. */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/generic.h"
#include "tensor/cuda/threads.h"

namespace
{
/* ---- TO_FLOAT, RELATIVE_POSITION, CLIPPED_RELATIVE_POSITION ---- */

__global__ void ids_to_float(float *y, const int32_t *ids, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) y[i] = (float)ids[i];
}
/* clip < 0: gaps as numbers. */
__global__ void relative_position(void *y, const int32_t *q, const int32_t *k, int64_t n_k, int32_t clip, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        int32_t gap = k[i % n_k] - q[i / n_k];
        if (clip < 0)
            ((float *)y)[i] = (float)gap;
        else
            ((int32_t *)y)[i] = (gap < -clip ? -clip : gap > clip ? clip : gap) + clip;
    }
}

/* ---- MASK ---- */

struct masking {
    float *y;
    const float *s;
    const int32_t *q, *k, *k_len;
    int64_t heads, n_q, n_k;
    int causal;
};
template <class V, class Index> /* V: float or float4 */
__global__ void mask(masking m, int64_t n)
{
    enum { N = sizeof(V) / sizeof(float) };
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        Index r = (Index)i / (Index)(m.n_k / N);
        int64_t k = (int64_t)((Index)i - r * (Index)(m.n_k / N)) * N, b = (int64_t)(r / (Index)(m.heads * m.n_q));
        int32_t seen = m.k_len[b], q = m.causal ? m.q[(int64_t)(r % (Index)m.n_q)] : 0x7fffffff;
        lanes<float, N> v = ((const lanes<float, N> *)m.s)[i];
        UNROLL for (int j = 0; j < N; j++) if (k + j >= seen || m.k[k + j] > q) v.v[j] = -INFINITY;
        ((lanes<float, N> *)m.y)[i] = v;
    }
}
} // namespace

extern "C" int gpu_TO_FLOAT(float *y, const int32_t *ids, int64_t n)
{
    return n > 0 ? LAUNCH(ids_to_float, blocks_for(n), THREADS, 0, y, ids, n) : gpu_launched();
}
extern "C" int gpu_RELATIVE_POSITION(float *y, const int32_t *q, const int32_t *k, int64_t n_q, int64_t n_k)
{
    int64_t n = n_q * n_k;
    return n > 0 ? LAUNCH(relative_position, blocks_for(n), THREADS, 0, (void *)y, q, k, n_k, (int32_t)-1, n)
                 : gpu_launched();
}
extern "C" int gpu_CLIPPED_RELATIVE_POSITION(int32_t *y, const int32_t *q, const int32_t *k, int64_t n_q, int64_t n_k,
                                             int32_t clip)
{
    int64_t n = n_q * n_k;
    return n > 0 ? LAUNCH(relative_position, blocks_for(n), THREADS, 0, (void *)y, q, k, n_k, clip, n) : gpu_launched();
}

extern "C" int gpu_MASK(float *y, const float *s, const int32_t *q, const int32_t *k, const int32_t *k_len,
                        int64_t batch, int64_t heads, int64_t n_q, int64_t n_k, int causal)
{
    int64_t n = batch * heads * n_q * n_k;
    masking m = {y, s, q, k, k_len, heads, n_q, n_k, causal};
    if (n <= 0) return gpu_launched();
    if (n_k % 4 == 0 && aligned16(y, s)) return LAUNCH_INDEX(mask, float4, n / 4, m, n / 4);
    return LAUNCH_INDEX(mask, float, n, m, n);
}
