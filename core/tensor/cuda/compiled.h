/* compiled.h - kernels generated at run time (score_source.c): compiled by NVRTC at first use, cached in a folder. */
#ifndef ABLATE_CUDA_COMPILED_H
#define ABLATE_CUDA_COMPILED_H
#include "base/base.h"
#include "base/linkage.h"
C_BEGIN

/* Reads ABLATE_SCORE: returns 1 to compile (the default), 0 to interpret (the emulation's default), -1: gpu_error(). */
int compiled_wanted(void);

/* The kernel `expression` ("score_forward<bf16, 64, 1, written_program>") of `source`, for gpu_run_kernel. The source
 * may include the kernels' headers ("tensor/cuda/attend_score.h"). Returns 0, or -1: then gpu_error() has the
 * compiler's message, or says where NVRTC was searched for, followed by `without`, how to do without it. */
int compiled_kernel(const char *source, const char *expression, const char *without, void **kernel);

/* Compiles for a compute capability (90) to machine code and the kernel's name in it. Returns 0, or -1 and e. */
typedef int (*kernel_compiler)(const char *source, const char *expression, int capability, str *image, str *name,
                               err *e);
/* NVRTC */
int kernel_compile(const char *source, const char *expression, int capability, str *image, str *name, err *e);
bool kernel_compiler_found(err *e); /* is NVRTC available? If not, e names where it was searched for */

/* For tests: a compiler to use instead of NVRTC, and the number of compilations. */
void kernel_use_compiler(kernel_compiler c);
int64_t kernel_compilations(void);
C_END
#endif
