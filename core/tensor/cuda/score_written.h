/* score_written.h - generates CUDA C from score programs for the kernels of attend_score.h. Enabled by
 * ABLATE_SCORE=compiled; otherwise the interpreter runs.
 *
 * A generated program runs the same steps as the interpreter and rounds after each.
 */
#ifndef ABLATE_CUDA_SCORE_WRITTEN_H
#define ABLATE_CUDA_SCORE_WRITTEN_H
#include "base/base.h"
#include "tensor/cuda/score.h"

/* Generates an #include of attend_score.h and a struct `written_program`, which replaces score_interpreter in the
 * kernels. */
void score_source(const gpu_score *f, str *text);
#endif
