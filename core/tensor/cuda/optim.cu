/* optim.cu - an optimizer's update in one launch, whatever plugin wrote it; the length of the gradient.
 *
 * The program is the kernel's argument. Each thread interprets it for GROUPS times four elements at once, with the
 * program's registers in shared memory; a result that only the next step reads stays in a real register. Every vector
 * is read once and written once.
 */
#include "tensor/cuda/functions.h"
#include "tensor/cuda/optim.h"
#include "tensor/cuda/threads.h"
#include "tensor/cuda/vec8.h"

namespace
{
/* ---- the update ---- */

/* A block has a tile of elements, a thread GROUPS times four of them, so that a warp moves whole lines. */
enum { GROUPS = UPDATE_GROUPS, N = 4 * GROUPS, TILE = UPDATE_THREADS * N, AT_ONCE = 4 };

/* Reads four numbers at p, of which `left` exist; wide: p is aligned to 16 bytes (8 for bf16). */
DEVICE float4 read4(const float *p, int64_t left, bool wide)
{
    if (wide && left >= 4) return *(const float4 *)p;
    return make_float4(left > 0 ? p[0] : 0, left > 1 ? p[1] : 0, left > 2 ? p[2] : 0, left > 3 ? p[3] : 0);
}
template <class T> DEVICE void write4(T *p, const float v[4], int64_t left, bool wide)
{
    if (wide && left >= 4)
        store4_device(p, v);
    else
        UNROLL for (int j = 0; j < 4; j++) if (j < left) store(p + j, v[j]);
}

/* Registers of the thread: four elements of group g in own[(register * GROUPS + g) * UPDATE_THREADS]. */
DEVICE void fetch(int from, const float4 *own, const float *scalar, const float last[N], float by, float out[N])
{
    if (from < UPDATE_SCALAR) {
        UNROLL for (int g = 0; g < GROUPS; g++)
        {
            float4 v = own[(from * GROUPS + g) * UPDATE_THREADS];
            out[4 * g] = v.x, out[4 * g + 1] = v.y, out[4 * g + 2] = v.z, out[4 * g + 3] = v.w;
        }
        return;
    }
    float one = from == UPDATE_BY ? by : from < UPDATE_LAST ? scalar[from - UPDATE_SCALAR] : 0;
    UNROLL for (int j = 0; j < N; j++) out[j] = from == UPDATE_LAST ? last[j] : one;
}

#define EACH(expression) UNROLL for (int j = 0; j < N; j++) r[j] = expression
DEVICE void arithmetic_of(int what, const float a[N], const float b[N], float r[N])
{
    switch (what) {
    case OP_ADD:
    case OP_ADD_SCALAR: EACH(a[j] + b[j]); break;
    case OP_SUB: EACH(a[j] - b[j]); break;
    case OP_MUL:
    case OP_MUL_SCALAR: EACH(a[j] * b[j]); break;
    case OP_DIV: EACH(a[j] / b[j]); break;
    default: EACH(arithmetic(what, a[j], b[j]));
    }
}
DEVICE void map_of(int function, const float a[N], float r[N])
{
    switch (function) { /* the common functions are dispatched once for all elements */
    case AB_SQUARE: EACH(a[j] * a[j]); break;
    case AB_SQRT: EACH(sqrtf(a[j])); break;
    case AB_SIGN: EACH(function_of(AB_SIGN, a[j])); break;
    default: EACH(function_of(function, a[j]));
    }
}

DEVICE float scalar_step(const update_step &s, const float *scalar)
{
    float in[3];
    UNROLL for (int k = 0; k < 3; k++) in[k] = s.in[k] == UPDATE_BY       ? s.by
                                               : s.in[k] < UPDATE_SCALARS ? scalar[s.in[k]]
                                                                          : 0;
    return step_of(s.what, s.function, in[0], in[1], in[2]);
}

__global__ void __launch_bounds__(UPDATE_THREADS) update(update_program u, bool wide)
{
    __shared__ float scalar[UPDATE_SCALARS];
    DYN_SMEM(float4, registers);
    float4 *own = registers + threadIdx.x;
    if ((int)threadIdx.x < u.n_scalars && u.scalar[threadIdx.x]) scalar[threadIdx.x] = *u.scalar[threadIdx.x];
    __syncthreads();
    if (!threadIdx.x)
        for (int i = 0; i < u.n_setup; i++) scalar[u.setup[i].out] = scalar_step(u.setup[i], scalar);
    __syncthreads();
    for (int64_t tile = (int64_t)blockIdx.x * TILE; tile < u.count; tile += (int64_t)gridDim.x * TILE) {
        int64_t first = tile + 4 * threadIdx.x;
        for (int k = 0; k < UPDATE_VECTORS; k += AT_ONCE) {
            float4 x[AT_ONCE][GROUPS]; /* issue all loads before the first is used */
            UNROLL for (int i = 0; i < AT_ONCE; i++) if (u.read >> (k + i) & 1) UNROLL for (int g = 0; g < GROUPS; g++)
            {
                int64_t at = first + g * 4 * UPDATE_THREADS;
                x[i][g] = read4(u.vector[k + i] + at, u.count - at, wide);
            }
            UNROLL for (int i = 0; i < AT_ONCE; i++) if (u.read >> (k + i) & 1) UNROLL for (int g = 0; g < GROUPS; g++)
                own[((k + i) * GROUPS + g) * UPDATE_THREADS] = x[i][g];
        }
        float r[N] = {0};
        for (int i = 0; i < u.n_steps; i++) {
            update_step s = u.step[i];
            float a[N], b[N];
            fetch(s.in[0], own, scalar, r, s.by, a);
            if (s.what == OP_MAP) {
                map_of(s.function, a, r);
            } else if (applies_function(s.what)) {
                float c[N];
                fetch(s.in[1], own, scalar, r, s.by, b);
                fetch(s.in[2], own, scalar, r, s.by, c);
                EACH(apply_function(s.what, s.function, a[j], b[j], c[j]));
            } else {
                fetch(s.in[1], own, scalar, r, s.by, b);
                arithmetic_of(s.what, a, b, r);
            }
            UNROLL for (int g = 0; g < GROUPS; g++)
            {
                const float *v = r + 4 * g;
                int64_t at = first + g * 4 * UPDATE_THREADS, left = u.count - at;
                if (s.out != UPDATE_NOWHERE)
                    own[(s.out * GROUPS + g) * UPDATE_THREADS] = make_float4(v[0], v[1], v[2], v[3]);
                if (s.vector == UPDATE_NOWHERE) continue;
                write4(u.vector[s.vector] + at, v, left, wide);
                if (u.shadow && s.vector == u.shadowed) write4((bf16 *)u.shadow + at, v, left, wide);
            }
        }
    }
}

/* ---- the sum of squares: a block sums a chunk, one block the sums of all chunks ---- */

enum { CHUNK = 1 << 14, CHUNKS = 4096 };

DEVICE double square(float x) { return (double)x * (double)x; }
__global__ void square_chunks(double *sums, const float *v, int64_t n, int64_t chunk, bool wide)
{
    int64_t from = blockIdx.x * chunk, end = n - from < chunk ? n : from + chunk, i = from + 4 * threadIdx.x;
    double sum = 0;
    for (; i < end; i += 4 * THREADS) {
        float4 x = read4(v + i, end - i, wide);
        sum += (square(x.x) + square(x.y)) + (square(x.z) + square(x.w));
    }
    sum = block_sum<WARPS>(sum);
    if (!threadIdx.x) sums[blockIdx.x] = sum;
}
__global__ void add_chunks(double *out, const double *sums, int n)
{
    double sum = 0;
    for (int i = (int)threadIdx.x; i < n; i += THREADS) sum += sums[i];
    sum = block_sum<WARPS>(sum);
    if (!threadIdx.x) *out = sum;
}

__global__ void clip(float *scale_at, const double *sum_squares, double scale, double clip_norm)
{
    double length = scale * sqrt(*sum_squares);
    if (!threadIdx.x) *scale_at = (float)(length > clip_norm ? scale * (clip_norm / length) : scale);
}
} // namespace

extern "C" int gpu_run_update(const update_program *u)
{
    if (u->count <= 0 || !u->n_steps) return gpu_launched();
    bool wide = aligned16(u->shadow);
    for (int k = 0; k < u->n_vectors; k++) wide = wide && aligned16(u->vector[k]);
    int64_t tiles = (u->count + TILE - 1) / TILE, most = 64 * (int64_t)gpu_multiprocessors();
    unsigned blocks = (unsigned)(tiles < most ? tiles : most);
    size_t shared = (size_t)u->n_registers * UPDATE_REGISTER_BYTES;
    return LAUNCH(update, dim3(blocks), UPDATE_THREADS, shared, *u, wide);
}

extern "C" int gpu_sum_squares_to(void *out, const float *v, int64_t n)
{
    double *sums = (double *)gpu_scratch(SCRATCH_OPTIM, (1 + CHUNKS) * sizeof(double)) + 1;
    int64_t chunk = n <= (int64_t)CHUNK * CHUNKS ? (int64_t)CHUNK : ((n + CHUNKS - 1) / CHUNKS + 3) / 4 * 4;
    int64_t chunks = (n + chunk - 1) / chunk;
    if (chunks && LAUNCH(square_chunks, dim3((unsigned)chunks), THREADS, 0, sums, v, n, chunk, aligned16(v))) return -1;
    return LAUNCH(add_chunks, 1, THREADS, 0, (double *)out, (const double *)sums, (int)chunks);
}

extern "C" int gpu_clip_scale(float *scale_at, const double *sum_squares, float scale, float clip_norm)
{
    return LAUNCH(clip, 1, 32, 0, scale_at, sum_squares, (double)scale, (double)clip_norm);
}
