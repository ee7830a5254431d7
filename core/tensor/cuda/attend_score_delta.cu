/* attend_score_delta.cu - a small kernel of the backward pass with a score program, apart from the long code of the
 * interpreter (attend_score.cu), so that a driver that compiles at first use compiles this alone. */
#include "tensor/cuda/attend_score.h"

/* delta [rows, heads] = rowsum(dy y), plus the gradient through weights summed by id. A warp has a tile of queries. */
template <class T> __global__ void __launch_bounds__(SCORE_THREADS(1)) score_delta(gpu_attention a, gpu_score f)
{
    int lane = threadIdx.x & 31, head = (int)blockIdx.x % a.heads;
    for (int i = first_tile<1>(a.heads); i < *a.tiles; i += tiles_of_grid<1>(a.heads)) {
        attend_place at = place_in(a.tiles, i);
        if (at.sentence == a.sentences) continue;
        for (int r = 0; r < at.n; r++) {
            int64_t row = at.own.first + at.first + r;
            const T *y = at_row<const T>(a.y, row, head * a.d_v), *dy = at_row<const T>(a.dy, row, head * a.d_v);
            float sum = 0;
            for (int c = lane; c < a.d_v; c += 32) sum += load(y + c) * load(dy + c);
            int64_t ids = ((int64_t)at.sentence * a.heads + head) * f.counts_head + (at.first + r) * f.counts_row;
            for (int64_t c = lane; f.dz && c < f.counts_row; c += 32) sum += f.z[ids + c] * f.dz[ids + c];
            sum = warp_sum(sum);
            if (lane == 0) f.delta[row * a.heads + head] = sum;
        }
    }
}

extern "C" int gpu_score_delta(const gpu_attention *a, const gpu_score *f)
{
    int64_t blocks = (side_at_once(a, a->rows, GPU_SCORE_TILE) + SCORE_WARPS - 1) / SCORE_WARPS * a->heads;
    return a->type == F32 ? LAUNCH(score_delta<float>, dim3((unsigned)blocks), dim3(SCORE_THREADS(1)), 0, *a, *f)
                          : LAUNCH(score_delta<bf16>, dim3((unsigned)blocks), dim3(SCORE_THREADS(1)), 0, *a, *f);
}
