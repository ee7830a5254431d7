/* choose.cu - ids chosen by numbers, and random numbers: TOP_K, TO_IDS, RANDOM. */
#include "tensor/cuda/vec8.h"
#include "tensor/cuda/generic.h"
#include "tensor/cuda/threads.h"

namespace
{
/* Does x come strictly before y? NaN comes before all numbers. */
__device__ __forceinline__ bool before(float x, float y) { return x > y || (x != x && y == y); }

/* A thread counts the numbers that come before its own: that is its place. */
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
__global__ void random_numbers(float *y, int64_t n, unsigned place, int normal, const gpu_counter *counter)
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
        UNROLL for (int j = 0; j < 4; j++) if (4 * i + j < n) y[4 * i + j] = u[j];
    }
}
} // namespace

extern "C" int gpu_TOP_K(int32_t *ids, const float *x, int64_t rows, int64_t n, int64_t k, int smallest)
{
    int64_t all = rows * n;
    return all > 0 ? LAUNCH(top_k, blocks_for(all), THREADS, 0, ids, x, n, k, smallest ? -1.f : 1.f, all)
                   : gpu_launched();
}
extern "C" int gpu_TO_IDS(int32_t *ids, const float *x, int64_t n)
{
    return n > 0 ? LAUNCH(to_ids, blocks_for(n), THREADS, 0, ids, x, n) : gpu_launched();
}
extern "C" int gpu_RANDOM(float *y, int64_t n, unsigned place, int normal)
{
    return n > 0 ? LAUNCH(random_numbers, blocks_for((n + 3) / 4), THREADS, 0, y, n, place, normal, gpu_counters())
                 : gpu_launched();
}
