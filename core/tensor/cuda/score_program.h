/* score_program.h - converts a score program of graph/score.h for the kernels. */
#ifndef ABLATE_CUDA_SCORE_PROGRAM_H
#define ABLATE_CUDA_SCORE_PROGRAM_H
#include "tensor/cuda/score.h"
#include "tensor/graph/score.h"

/* Its steps; addresses are zeros. */
void gpu_score_of(const score_program *f, gpu_score *to);
#endif
