/* attend_score_keys.cu - the gradient of attention with a score program: keys and values. */
#include "tensor/cuda/attend_score_launch.h"

int score_back_keys(const gpu_attention *a, const gpu_score *f) { return score_run<SCORE_BACK_KEYS>(a, f); }
