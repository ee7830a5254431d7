/* score_written.h - generates CUDA C from score programs for the kernels of attend_score.h and compiles it at first use, with NVRTC for
 * the current GPU; results are cached in a folder. Enabled by ABLATE_SCORE=compiled; otherwise the interpreter runs.
 *
 * A generated program runs the same steps as the interpreter and rounds after each.
 */
#ifndef ABLATE_CUDA_SCORE_WRITTEN_H
#define ABLATE_CUDA_SCORE_WRITTEN_H
#include "base/base.h"
#include "cuda/score.h"

/* Generates an #include of attend_score.h and a struct `written_program`, which replaces score_interpreter in the kernels. */
void score_source(const gpu_score *f, str *text);

/* Compiles `source` with the kernel `expression` ("score_forward<bf16, 64, 1, written_program>") for compute capability `capability` (90).
 * image: the machine code; name: the kernel's name in it. Returns 0, or -1 and the compiler's message. */
typedef int (*score_compiler)(const char *source, const char *expression, int capability, str *image, str *name, err *e);
int score_compile(const char *source, const char *expression, int capability, str *image, str *name, err *e); /* NVRTC */
bool score_compiler_found(err *e); /* is NVRTC available? Else e has where it was searched for */

/* For tests: a compiler to use instead of NVRTC, and the number of compilations. */
void score_use_compiler(score_compiler c);
int64_t score_compilations(void);
#endif
