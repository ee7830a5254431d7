/* score_program.h - converts a score program of graph/score.h for the kernels, and generates CUDA C from it. */
#ifndef ABLATE_CUDA_SCORE_PROGRAM_H
#define ABLATE_CUDA_SCORE_PROGRAM_H
#include "tensor/cuda/score.h"
#include "tensor/graph/score.h"

/* Converts the program's steps; addresses stay 0. */
void gpu_score_of(const score_program *f, gpu_score *to);

/* Generates struct `written_program`, which replaces score_interpreter: the same steps, rounded after each. */
void score_source(const gpu_score *f, str *text);
#endif
