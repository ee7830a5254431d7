/* attend_score_step.cu - launcher of a decoding step with a score program that is interpreted. */
#include "tensor/cuda/attend_score_step.h"

template <class T> static int run(const gpu_attention_step *a, const gpu_score *f, float *scores)
{
    size_t shared = (size_t)(f->n_registers + SCORE_WORKING) * 2 * sizeof(float4) * STEP_THREADS;
    return LAUNCH((score_step<T, score_interpreter>), dim3((unsigned)a->rows * (unsigned)a->heads), dim3(STEP_THREADS),
                  shared, *a, *f, scores);
}

extern "C" int gpu_attend_score_step(const gpu_attention_step *a, const gpu_score *f, float *scores)
{
    if (!a->rows || !a->heads) return 0;
    return a->type == 0 ? run<float>(a, f, scores) : run<bf16>(a, f, scores);
}
