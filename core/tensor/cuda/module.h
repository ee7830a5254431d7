/* module.h - interface of the CUDA backend's shared object (backends/ablate_cuda.so): `ablate_cuda`, and `ablate_nccl`
 * for ranks on GPUs (comm/comm.h). The host opens it with dlopen (device/device.c), so that ablate runs without CUDA, a
 * driver or a GPU. */
#ifndef ABLATE_CUDA_MODULE_H
#define ABLATE_CUDA_MODULE_H
#include "tensor/comm/comm.h"
#include "tensor/cuda/runtime.h"
#include "tensor/graph/tape.h"

/* Host and module share structs and must be built from the same sources: these values must agree. */
enum { CUDA_MODULE = 2 };
#define CUDA_MODULE_LAYOUT                                                                                             \
    (sizeof(backend) * 1000003u + sizeof(node) * 10007u + sizeof(call) * 101u + sizeof(params) * 11u +                 \
     sizeof(struct ab_ctx) + OP_COUNT)

typedef struct {
    uint32_t version;                             /* CUDA_MODULE */
    uint64_t layout;                              /* CUDA_MODULE_LAYOUT */
    int (*count)(const char **why);               /* number of GPUs, or -1 and why there is none */
    int (*describe)(int device, gpu_device *out); /* fills in *out: returns 0, or -1 */
    const backend *(*open)(int device, err *e);   /* takes a GPU for this process; NULL and e on failure */
    void (*close)(void);
    /* "cuBLASLt 13.0.2 (...)": the libraries found, or why not; static storage */
    const char *(*libraries)(void);
} cuda_module;
typedef const cuda_module *ablate_cuda_fn(void);
#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
const cuda_module *
ablate_cuda(void);
#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
const comm_module *
ablate_nccl(void);
#endif
