/* ops.h - the CUDA backend's implementation of graph/op.h: one function per operation, cuda_NAME, which unpacks a
 * `call` and launches.
 *
 * Some stand beside their kernel in a .cu file (choose.cu, positions.cu, SOFTMAX in reduce.cu), as new ones should.
 * The others are in ops_*.c and call launchers with plain arguments in the .cu files (C linkage, declared in generic.h,
 * rows.h, attention.h); a launcher returns gpu_launched(). Rows are F32 or BF16, everything else F32 or I32; this
 * backend does not support F64. Pointers in a view are device memory. No function here waits for the GPU, and each can
 * be captured in a graph: it may depend on addresses and shapes, not on data; dropout's seed and step come from
 * gpu_counters(). A graph's shapes are capacities: rows past the last offset are dummies, sentences past the last real
 * one are empty (offset[i] == offset[i + 1]).
 */
#ifndef ABLATE_CUDA_OPS_H
#define ABLATE_CUDA_OPS_H
#include "tensor/cuda/generic.h"
#include "tensor/cuda/runtime.h"
#include "tensor/graph/tape.h"
#include "tensor/graph/views.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_DECLARE(name, in, out, where, place, attributes, doc) CUDA_##where(int cuda_##name(const call *k, err *e);)
OPS(CUDA_DECLARE)
#define CUDA_ENTRY(name, in, out, where, place, attributes, doc) CUDA_##where([OP_##name] = cuda_##name, )

/* The numbers of generic.h for the operations that its programs compute. */
static inline bool gpu_computes(op o) { return (o >= OP_ADD && o <= OP_MAP_BACK) || o == OP_WHERE; }
static inline uint8_t gpu_what(op o) { return (uint8_t)(o == OP_WHERE ? GPU_MAP_BACK : o - OP_ADD); }
static inline uint8_t gpu_function(op o, int64_t function)
{
    return (uint8_t)(o == OP_WHERE ? (int64_t)GPU_WHERE : function);
}

static inline bool is_row_type(dtype t) { return t == F32 || t == BF16; }
static inline int no_kernel(const call *k, err *e) { return no_kernel_on("the GPU", k, e); }

/* Converts a launcher's result to an operation's: 0, or -1 with the GPU's message. */
static inline int launched(int rc, err *e)
{
    return rc ? fail(e, "%s", gpu_error() ? gpu_error() : "a kernel was not launched") : 0;
}

/* Input i of a product in bf16: the kept copy of a parameter's values (params.shadow), the data itself if it is bf16,
 * or else a cast into SCRATCH_WEIGHTS. NULL after an error. (ops_product.c) */
const void *cuda_as_bf16(const call *k, int i, err *e);

/* Services over the whole flat vectors (optim.c). */
int cuda_run_tiled(ab_ctx *c, const tiling *t, const run_options *o);
double cuda_sum_squares(const void *v, int64_t n, dtype type);
void cuda_accumulate(void *sum, const void *v, int64_t n, dtype type);
#ifdef __cplusplus
}
#endif
#endif
