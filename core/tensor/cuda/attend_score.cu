/* attend_score.cu - launchers of attention with a score program: interpreted, or written out and compiled
 * (score_written.h). */
#include "tensor/cuda/attend_score_launch.h"

extern "C" int gpu_attend_score(const gpu_attention *a, const gpu_score *f)
{
    if (!a->rows || !a->heads) return 0;
    if (a->type && !rows_fit(a)) return gpu_attend_packed(a, 0, f);
    return score_run<SCORE_FORWARD>(a, f);
}

extern "C" int gpu_attend_score_back(const gpu_attention *a, const gpu_score *f)
{
    if ((!a->rows && !a->keys) || !a->heads) return 0;
    if (a->type && !rows_fit(a)) return gpu_attend_packed(a, 1, f);
    int64_t blocks = (side_at_once(a, a->rows, GPU_SCORE_TILE) + SCORE_WARPS - 1) / SCORE_WARPS * a->heads;
    int bad = a->type == 0 ? LAUNCH(score_delta<float>, dim3((unsigned)blocks), dim3(SCORE_THREADS(1)), 0, *a, *f)
                           : LAUNCH(score_delta<bf16>, dim3((unsigned)blocks), dim3(SCORE_THREADS(1)), 0, *a, *f);
    return bad || score_back_queries(a, f) || score_back_keys(a, f) ? -1 : 0;
}
