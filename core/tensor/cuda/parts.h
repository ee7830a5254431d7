/* parts.h - partial sums of blocks, added by the blocks that finish last. This needs no second launch, and the order of
 * additions does not depend on the blocks' order. For kernels.
 *
 * The block that finishes last in a group of PARTS_GROUP adds the group's parts, and the block that finishes the last
 * group adds the groups' sums. So the work after the last part is that of two groups, and the sum does not depend on
 * which block adds. A ticket (gpu_tickets) counts the finished blocks and is 0 again when all have finished. */
#ifndef ABLATE_CUDA_PARTS_H
#define ABLATE_CUDA_PARTS_H
#include "tensor/cuda/gpu.h"

enum { PARTS_GROUP = 16 };

/* Number of groups of `parts` parts; number of tickets that these groups need. */
__host__ DEVICE int64_t parts_groups(int64_t parts) { return (parts + PARTS_GROUP - 1) / PARTS_GROUP; }
__host__ DEVICE int64_t parts_tickets(int64_t parts) { return 1 + parts_groups(parts); }

/* By a whole block: is it the last of `all` to arrive? It then sees all that the others wrote before arriving. */
DEVICE bool last_to_come(unsigned *ticket, int64_t all)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (!threadIdx.x) last = atomicInc(ticket, (unsigned)all - 1) == (unsigned)all - 1;
    __syncthreads();
    if (last) __threadfence();
    return last;
}

/* Adds sums[i] of `count` parts, `step` numbers apart; reads from the second-level cache, which all blocks share. */
DEVICE float4 add_four(const float *sums, int64_t step, int64_t count)
{
    float4 sum = make_float4(0, 0, 0, 0);
    for (int64_t p = 0; p < count; p += 8) {
        float4 x[8];
        UNROLL for (int j = 0; j < 8; j++) x[j] =
            p + j < count ? __ldcg((const float4 *)(sums + (p + j) * step)) : make_float4(0, 0, 0, 0);
        UNROLL for (int j = 0; j < 8; j++) sum.x += x[j].x, sum.y += x[j].y, sum.z += x[j].z, sum.w += x[j].w;
    }
    return sum;
}
DEVICE float add_one(const float *sums, int64_t step, int64_t count)
{
    float sum = 0;
    for (int64_t p = 0; p < count; p++) sum += __ldcg(sums + p * step);
    return sum;
}

/* Adds `count` parts and calls give(i, sum) for each number i in from .. to - 1. */
template <class Give>
DEVICE void add_range(const float *sums, int64_t step, int64_t count, int64_t from, int64_t to, Give give)
{
    if (step % 4 == 0 && from % 4 == 0 && to % 4 == 0) {
        for (int64_t i = from + 4 * (int64_t)threadIdx.x; i < to; i += 4 * (int64_t)blockDim.x) {
            float4 sum = add_four(sums + i, step, count);
            give(i, sum.x), give(i + 1, sum.y), give(i + 2, sum.z), give(i + 3, sum.w);
        }
        return;
    }
    for (int64_t i = from + threadIdx.x; i < to; i += blockDim.x) give(i, add_one(sums + i, step, count));
}

/* Each block calls this after writing its part, number `part`, to sums [parts][n]. The blocks share the
 * parts_tickets(parts) tickets at `ticket`. One block calls give(i, sum) for each number i in from .. to - 1. */
template <class Give>
DEVICE void add_parts(float *sums, int64_t parts, int64_t part, int64_t n, int64_t from, int64_t to, unsigned *ticket,
                      Give give)
{
    int64_t groups = parts_groups(parts), group = part / PARTS_GROUP, first = group * PARTS_GROUP;
    int64_t members = parts - first < PARTS_GROUP ? parts - first : (int64_t)PARTS_GROUP;
    if (!last_to_come(ticket + 1 + group, members)) return;
    float *own = sums + first * n;
    if (groups == 1) {
        add_range(own, n, members, from, to, give);
        return;
    }
    add_range(own, n, members, from, to, [=](int64_t i, float sum) { own[i] = sum; });
    if (!last_to_come(ticket, groups)) return;
    add_range(sums, n * PARTS_GROUP, groups, from, to, give);
}
#endif
