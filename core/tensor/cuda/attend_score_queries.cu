/* attend_score_queries.cu - the gradient of attention with a score program: queries and leaves. */
#include "tensor/cuda/attend_score_launch.h"

int score_back_queries(const gpu_attention *a, const gpu_score *f) { return score_run<SCORE_BACK_QUERIES>(a, f); }
