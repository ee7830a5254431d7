/* choose.cu - ids computed from numbers (TOP_K, TO_IDS), and random numbers (RANDOM). */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/threads.h"

namespace
{
/* Does x come strictly before y? NaN comes before all numbers. */
DEVICE bool before(float x, float y) { return x > y || (x != x && y == y); }

/* A thread finds its number's place by counting the numbers that come before it. */
__global__ void top_k(int32_t *ids, const float *x, int64_t n, int64_t k, float sign, int64_t all)
{
    for (int64_t i = my_thread(); i < all; i += all_threads()) {
        int64_t r = i / n, at = i - r * n, rank = 0;
        const float *line = x + r * n;
        float own = sign * line[at];
        for (int64_t j = 0; j < n && rank < k; j++) {
            float other = sign * line[j];
            rank += before(other, own) || (j < at && !before(own, other));
        }
        if (rank < k) ids[r * k + rank] = (int32_t)at;
    }
}
__global__ void to_ids(int32_t *ids, const float *x, int64_t n)
{
    for (int64_t i = my_thread(); i < n; i += all_threads()) {
        float v = rintf(x[i]);
        ids[i] = v >= -2147483648.f && v < 2147483648.f ? (int32_t)v : -1;
    }
}
/* wide: y is aligned to 16 bytes. */
__global__ void random_numbers(float *y, int64_t n, unsigned place, int normal, bool wide, const gpu_counter *counter)
{
    philox_key key = key_of(counter, place);
    for (int64_t i = my_thread(); 4 * i < n; i += all_threads()) {
        unsigned w[4];
        float u[4];
        philox((uint64_t)i, key, w);
        UNROLL for (int j = 0; j < 4; j++) u[j] = ((float)(w[j] >> 9) + 0.5f) / 8388608.f;
        if (normal) UNROLL for (int j = 0; j < 4; j += 2)
            {
                float radius = sqrtf(-2.f * logf(u[j])), angle = 6.2831853071795865f * u[j + 1];
                u[j] = radius * cosf(angle), u[j + 1] = radius * sinf(angle);
            }
        if (wide && 4 * i + 4 <= n)
            ((float4 *)y)[i] = make_float4(u[0], u[1], u[2], u[3]);
        else
            UNROLL for (int j = 0; j < 4; j++) if (4 * i + j < n) y[4 * i + j] = u[j];
    }
}
} // namespace

int cuda_TOP_K(const call *k, err *e)
{
    const view *x = &k->i.TOP_K.x, *y = &k->o.TOP_K.y;
    int64_t all = count_of(x);
    if (x->type != F32 || y->type != I32) return no_kernel(k, e);
    return launched(LAUNCH_OVER(top_k, all, data_of(y), data_of(x), width_of(x), k->a.TOP_K.k,
                                k->a.TOP_K.smallest ? -1.f : 1.f, all),
                    e);
}
int cuda_TO_IDS(const call *k, err *e)
{
    const view *x = &k->i.TO_IDS.x, *y = &k->o.TO_IDS.y;
    int64_t n = count_of(y);
    if (x->type != F32 || y->type != I32) return no_kernel(k, e);
    return launched(LAUNCH_OVER(to_ids, n, data_of(y), data_of(x), n), e);
}
int cuda_RANDOM(const call *k, err *e)
{
    const view *y = &k->o.RANDOM.y;
    int64_t n = count_of(y);
    if (y->type != F32) return no_kernel(k, e);
    return launched(LAUNCH_OVER(random_numbers, (n + 3) / 4, data_of(y), n, (unsigned)k->a.RANDOM.place,
                                (int)k->a.RANDOM.normal, aligned16(y->data), gpu_counters()),
                    e);
}
