/* positions.cu - TO_FLOAT, RELATIVE_POSITION, CLIPPED_RELATIVE_POSITION and MASK. */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/threads.h"

namespace
{
/* ---- TO_FLOAT, RELATIVE_POSITION, CLIPPED_RELATIVE_POSITION ---- */

__global__ void ids_to_float(float *y, const int32_t *ids, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) y[i] = (float)ids[i];
}
/* clip < 0: writes distances as numbers, not ids. */
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

int cuda_TO_FLOAT(const call *k, err *e)
{
    const view *ids = &k->i.TO_FLOAT.ids, *y = &k->o.TO_FLOAT.y;
    int64_t n = count_of(y);
    if (y->type != F32 || ids->type != I32) return no_kernel(k, e);
    return launched(LAUNCH_OVER(ids_to_float, n, data_of(y), data_of(ids), n), e);
}

/* clip -1: distances as numbers, not ids. */
static int relative(const call *k, dtype type, int64_t clip, err *e)
{
    const view *q = &k->i.RELATIVE_POSITION.q, *keys = &k->i.RELATIVE_POSITION.k, *y = &k->o.RELATIVE_POSITION.y;
    int64_t n_k = count_of(keys), n = count_of(q) * n_k;
    if (y->type != type || q->type != I32 || keys->type != I32) return no_kernel(k, e);
    return launched(LAUNCH_OVER(relative_position, n, y->data, data_of(q), data_of(keys), n_k, (int32_t)clip, n), e);
}
int cuda_RELATIVE_POSITION(const call *k, err *e) { return relative(k, F32, -1, e); }
int cuda_CLIPPED_RELATIVE_POSITION(const call *k, err *e)
{
    return relative(k, I32, k->a.CLIPPED_RELATIVE_POSITION.clip, e);
}

/* s, y [B,H,n_q,n_k]; y may be s. */
int cuda_MASK(const call *k, err *e)
{
    const view *s = &k->i.MASK.s, *q = &k->i.MASK.q_positions, *keys = &k->i.MASK.k_positions,
               *lengths = &k->i.MASK.k_lengths, *y = &k->o.MASK.y;
    if (y->type != F32 || s->type != F32 || q->type != I32 || keys->type != I32 || lengths->type != I32)
        return no_kernel(k, e);
    int64_t n = count_of(y);
    masking m = {data_of(y), data_of(s), data_of(q), data_of(keys),        data_of(lengths),
                 y->dim[1],  y->dim[2],  y->dim[3],  k->a.MASK.causal != 0};
    return launched(m.n_k % 4 == 0 && aligned16(m.y, m.s) ? LAUNCH_INDEX(mask, float4, n / 4, m, n / 4)
                                                          : LAUNCH_INDEX(mask, float, n, m, n),
                    e);
}
