/* compiled.h - kernels whose source is generated at run time (score_source.c): compiled at first use, with NVRTC for
 * the current GPU, cached in a folder, loaded once. */
#ifndef ABLATE_CUDA_COMPILED_H
#define ABLATE_CUDA_COMPILED_H
#include "base/base.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ABLATE_SCORE: 1 for "compiled" (the default), 0 for "interpreted" (the emulation's default); -1 and gpu_error() for
 * another value. */
int compiled_wanted(void);

/* The kernel `expression` ("score_forward<bf16, 64, 1, written_program>") of `source`, for gpu_run_kernel. The source
 * may include the kernels' headers ("tensor/cuda/attend_score.h"). Returns 0, or -1: gpu_error() is the compiler's
 * message, or says where NVRTC was searched for, and `without`: how to do without it. */
int compiled_kernel(const char *source, const char *expression, const char *without, void **kernel);

/* Compiles for compute capability `capability` (90). image: the machine code; name: the kernel's name in it. Returns 0,
 * or -1 and the compiler's message. */
typedef int (*kernel_compiler)(const char *source, const char *expression, int capability, str *image, str *name,
                               err *e);
/* NVRTC */
int kernel_compile(const char *source, const char *expression, int capability, str *image, str *name, err *e);
bool kernel_compiler_found(err *e); /* is NVRTC available? Else e has where it was searched for */

/* For tests: a compiler to use instead of NVRTC, and the number of compilations. */
void kernel_use_compiler(kernel_compiler c);
int64_t kernel_compilations(void);
#ifdef __cplusplus
}
#endif
#endif
