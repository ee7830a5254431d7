/* score_written.h - score programs written out as CUDA C, for the kernels of attend_score.h, and compiled when they are first used: by NVRTC
 * where it is found, for the GPU at hand, kept in a folder. Asked for by ABLATE_SCORE=compiled; the interpreter is what runs else.
 *
 * A written program takes the same steps as the interpreter and rounds after each.
 */
#ifndef ABLATE_CUDA_SCORE_WRITTEN_H
#define ABLATE_CUDA_SCORE_WRITTEN_H
#include "base/base.h"
#include "cuda/score.h"

/* A struct `written_program`, which stands in the kernels where score_interpreter does; behind an #include of attend_score.h. */
void score_source(const gpu_score *f, str *text);

/* Compiles `source` with the kernel `expression` ("score_forward<bf16, 64, 1, written_program>") for compute capability `capability` (90).
 * image: the machine code; name: the kernel's in it. 0, or -1 and the compiler's words. */
typedef int (*score_compiler)(const char *source, const char *expression, int capability, str *image, str *name, err *e);
int score_compile(const char *source, const char *expression, int capability, str *image, str *name, err *e); /* NVRTC */
bool score_compiler_found(err *e); /* is NVRTC there? Else where it was looked for */

/* For tests: another compiler than NVRTC, and how often one has run. */
void score_use_compiler(score_compiler c);
int64_t score_compilations(void);
#endif
