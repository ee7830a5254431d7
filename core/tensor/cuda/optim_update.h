/* optim_update.h - the kernel of an update whose program P is generated (optim_source.c), and what it shares with the
 * interpreter. For optim.cu and NVRTC.
 *
 * A block has a tile of consecutive elements, a thread GROUPS times four of them, so that a warp reads and writes whole
 * lines.
 */
#ifndef ABLATE_CUDA_OPTIM_UPDATE_H
#define ABLATE_CUDA_OPTIM_UPDATE_H
#include "tensor/cuda/functions.h"
#include "tensor/cuda/optim.h"

enum {
    UPDATE_THREADS = 128,
    UPDATE_GROUPS = 2,
    UPDATE_ELEMENTS = 4 * UPDATE_GROUPS /* of a thread */,
    UPDATE_TILE = UPDATE_THREADS * UPDATE_ELEMENTS
};

/* Four numbers at p, of which `left` are there; wide: p is aligned to 16 bytes (8 for bf16). */
__device__ __forceinline__ float4 read4(const float *p, int64_t left, bool wide)
{
    if (wide && left >= 4) return *(const float4 *)p;
    return make_float4(left > 0 ? p[0] : 0, left > 1 ? p[1] : 0, left > 2 ? p[2] : 0, left > 3 ? p[3] : 0);
}
__device__ __forceinline__ void write4(float *p, const float v[4], int64_t left, bool wide)
{
    if (wide && left >= 4)
        *(float4 *)p = make_float4(v[0], v[1], v[2], v[3]);
    else
        UNROLL for (int j = 0; j < 4; j++) if (j < left) p[j] = v[j];
}
struct alignas(8) bf16_four {
    bf16 x[4];
};
__device__ __forceinline__ void write4(bf16 *p, const float v[4], int64_t left, bool wide)
{
    bf16_four t;
    UNROLL for (int j = 0; j < 4; j++) t.x[j] = to_bf16(v[j]);
    if (wide && left >= 4)
        *(bf16_four *)p = t;
    else
        UNROLL for (int j = 0; j < 4; j++) if (j < left) p[j] = t.x[j];
}

/* P(u) reads the scalars and runs the setup; run(x) takes an element of every vector in READ and leaves one for every
 * vector in WRITTEN (bits). SHADOWED: as in update_program. */
template <class P>
__global__ void __launch_bounds__(UPDATE_THREADS) update_written(const __grid_constant__ update_program u, bool wide)
{
    const P program(u);
    for (int64_t tile = (int64_t)blockIdx.x * UPDATE_TILE; tile < u.count; tile += (int64_t)gridDim.x * UPDATE_TILE) {
        int64_t first = tile + 4 * threadIdx.x;
        float x[UPDATE_ELEMENTS][UPDATE_VECTORS];
        UNROLL for (int k = 0; k < UPDATE_VECTORS; k++)
        {
            if (!((unsigned)P::READ >> k & 1)) continue;
            UNROLL for (int g = 0; g < UPDATE_GROUPS; g++)
            {
                int64_t at = first + g * 4 * UPDATE_THREADS;
                float4 v = read4(u.vector[k] + at, u.count - at, wide);
                x[4 * g][k] = v.x, x[4 * g + 1][k] = v.y, x[4 * g + 2][k] = v.z, x[4 * g + 3][k] = v.w;
            }
        }
        UNROLL for (int j = 0; j < UPDATE_ELEMENTS; j++) program.run(x[j]);
        UNROLL for (int k = 0; k < UPDATE_VECTORS; k++)
        {
            if (!((unsigned)P::WRITTEN >> k & 1)) continue;
            UNROLL for (int g = 0; g < UPDATE_GROUPS; g++)
            {
                int64_t at = first + g * 4 * UPDATE_THREADS;
                float v[4] = {x[4 * g][k], x[4 * g + 1][k], x[4 * g + 2][k], x[4 * g + 3][k]};
                write4(u.vector[k] + at, v, u.count - at, wide);
                if (k == P::SHADOWED) write4((bf16 *)u.shadow + at, v, u.count - at, wide);
            }
        }
    }
}
#endif
