/* attend_step.cu - one decoding step: one more token of every hypothesis attends over its own past in the cache.
 *
 * A block has one row and one head. A group of LANES neighbouring threads reads a key and its value together, 8 columns
 * (LOADS times) each, so a warp reads 32 / LANES keys at once. Every group loops over its own keys with a running
 * maximum and sum; at the end the groups are joined in a fixed order. A row's bits do not depend on the number of
 * rows. */
#include "tensor/cuda/attention.h"
#include "tensor/cuda/vec8.h"

enum { WARPS = 4, THREADS = 32 * WARPS, AT_ONCE = 2 /* keys that a group loads at a time */ };

template <int LOADS> struct past { /* a group's running sums of exponentials and of values, relative to 2^top */
    float top, sum, y[LOADS][8];
};

/* Sums over LANES neighbouring threads. */
template <int LANES> DEVICE float lanes_sum(float x)
{
    for (int o = 1; o < LANES; o *= 2) x += __shfl_xor_sync(0xffffffffu, x, o);
    return x;
}

/* Loads a lane's columns of p; zeros from `width` on. */
template <bool VECTOR, int LANES, int LOADS, class T>
DEVICE void load_columns(const T *p, int width, float (&x)[LOADS][8])
{
    int lane = threadIdx.x % LANES;
    UNROLL for (int i = 0; i < LOADS; i++)
    {
        int column = 8 * (lane + LANES * i);
        get8<VECTOR>(p + column, width - column, x[i]);
    }
}

template <bool VECTOR, int LANES, int LOADS, class T>
DEVICE void store_columns(T *p, int width, const float (&x)[LOADS][8])
{
    int lane = threadIdx.x % LANES;
    UNROLL for (int i = 0; i < LOADS; i++)
    {
        int column = 8 * (lane + LANES * i);
        put8<VECTOR>(p + column, width - column, x[i]);
    }
}

/* Adds b to a, both relative to the larger top. */
template <int LOADS> DEVICE void join(past<LOADS> &a, float b_top, float b_sum, const float (&b_y)[LOADS][8])
{
    float top = fmaxf(a.top, b_top), f = exp2f(a.top - top), g = exp2f(b_top - top);
    a.top = top, a.sum = a.sum * f + b_sum * g;
    UNROLL for (int i = 0; i < LOADS; i++) UNROLL for (int j = 0; j < 8; j++) a.y[i][j] = a.y[i][j] * f + b_y[i][j] * g;
}

template <class T, bool VECTOR, int LANES, int LOADS>
__global__ void __launch_bounds__(THREADS) attend_step(gpu_attention_step a)
{
    const float lowest = -1e30f, log2_e = 1.44269504f; /* lowest: the score of a missing key */
    constexpr int groups = THREADS / LANES;
    int group = (int)threadIdx.x / LANES, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int head = (int)(blockIdx.x % (unsigned)a.heads), time = *a.time;
    int64_t row = blockIdx.x / (unsigned)a.heads, width = (int64_t)a.heads * (a.d_k + a.d_v),
            q_width = (int64_t)a.heads * a.d_k;
    const T *qkv = (const T *)a.qkv + row * (width + q_width);
    T *cache = (T *)a.cache, *y = (T *)a.y + (row * a.heads + head) * a.d_v;
    int64_t k_column = (int64_t)head * a.d_k, v_column = q_width + (int64_t)head * a.d_v;
    if (time < 0 || time >= a.capacity) {
        for (int c = threadIdx.x; c < a.d_v; c += THREADS) store(y + c, __uint_as_float(0x7fc00000u));
        return;
    }
    float q[LOADS][8];
    load_columns<VECTOR, LANES>(qkv + k_column, a.d_k, q);
    if (group == 0) { /* no other block reads this position in this step */
        T *to = cache + (row * a.capacity + time) * width;
        float x[LOADS][8];
        load_columns<VECTOR, LANES>(qkv + q_width + k_column, a.d_k, x);
        store_columns<VECTOR, LANES>(to + k_column, a.d_k, x);
        load_columns<VECTOR, LANES>(qkv + q_width + v_column, a.d_v, x);
        store_columns<VECTOR, LANES>(to + v_column, a.d_v, x);
    }

    past<LOADS> mine = {lowest, 0, {}};
    const int32_t *from = a.ancestors + row * a.capacity;
    int first = warp * (32 / LANES); /* first key of the warp's groups: all lanes of a warp run the same iterations */
    for (int turn = 0; turn + first <= time; turn += groups * AT_ONCE) {
        float k[AT_ONCE][LOADS][8], v[AT_ONCE][LOADS][8];
        UNROLL for (int u = 0; u < AT_ONCE; u++)
        {
            int j = turn + group + groups * u;
            const T *kv = j < time ? cache + (from[j] * a.capacity + j) * width : qkv + q_width;
            load_columns<VECTOR, LANES>(kv + k_column, j <= time ? a.d_k : 0, k[u]);
            load_columns<VECTOR, LANES>(kv + v_column, j <= time ? a.d_v : 0, v[u]);
        }
        UNROLL for (int u = 0; u < AT_ONCE; u++)
        {
            float dot = 0;
            UNROLL for (int i = 0; i < LOADS; i++) UNROLL for (int c = 0; c < 8; c++) dot += q[i][c] * k[u][i][c];
            dot = lanes_sum<LANES>(dot) * (a.scale * log2_e);
            bool there = turn + group + groups * u <= time;
            join(mine, there ? dot : lowest, 1.f, v[u]); /* a missing key gets weight 0 when joined with a score */
        }
    }
    for (int o = LANES; o < 32; o *= 2) { /* join the warp's groups */
        past<LOADS> b;
        b.top = __shfl_xor_sync(0xffffffffu, mine.top, o), b.sum = __shfl_xor_sync(0xffffffffu, mine.sum, o);
        UNROLL for (int i = 0; i < LOADS; i++) UNROLL for (int c = 0; c < 8; c++) b.y[i][c] =
            __shfl_xor_sync(0xffffffffu, mine.y[i][c], o);
        join(mine, b.top, b.sum, b.y);
    }
    __shared__ float top[WARPS], sum[WARPS], part[WARPS][LANES][LOADS][8];
    if (lane < LANES) {
        if (!lane) top[warp] = mine.top, sum[warp] = mine.sum; /* all lanes of a group hold equal sums */
        UNROLL for (int i = 0; i < LOADS; i++) UNROLL for (int c = 0; c < 8; c++) part[warp][lane][i][c] = mine.y[i][c];
    }
    __syncthreads();
    if (threadIdx.x >= LANES) return;
    for (int w = 1; w < WARPS; w++) join(mine, top[w], sum[w], part[w][lane]);
    UNROLL for (int i = 0; i < LOADS; i++) UNROLL for (int c = 0; c < 8; c++) mine.y[i][c] /= mine.sum;
    store_columns<VECTOR, LANES>(y, a.d_v, mine.y);
}

template <class T, bool VECTOR, int LANES, int LOADS> static int run(const gpu_attention_step *a)
{
    return LAUNCH((attend_step<T, VECTOR, LANES, LOADS>), dim3((unsigned)a->rows * (unsigned)a->heads), dim3(THREADS),
                  0, *a);
}

template <class T> static int run_type(const gpu_attention_step *a)
{
    int width = a->d_k > a->d_v ? a->d_k : a->d_v;
    if (a->d_k % 8 || a->d_v % 8 || !aligned16(a->qkv, a->cache, a->y))
        return width <= 64 ? run<T, false, 8, 1>(a) : run<T, false, 32, 2>(a);
    return width <= 32    ? run<T, true, 4, 1>(a)
           : width <= 64  ? run<T, true, 8, 1>(a)
           : width <= 128 ? run<T, true, 16, 1>(a)
           : width <= 256 ? run<T, true, 32, 1>(a)
                          : run<T, true, 32, 2>(a);
}

extern "C" int gpu_ATTEND_STEP(const gpu_attention_step *a)
{
    if (!a->rows || !a->heads) return 0;
    return a->type == F32 ? run_type<float>(a) : run_type<bf16>(a);
}
