/* ops.h - the CUDA backend's implementation of graph/op.h: one function per operation, cuda_NAME, which takes a `call`
 * and launches kernels.
 *
 * Most are defined beside their kernel in a .cu file. Those in ops_*.c first choose between kernels or libraries
 * (products, attention) and fill a struct that several kernels take (product.h, attention.h). Rows are F32 or BF16,
 * everything else F32 or I32; this backend does not support F64. Pointers in a view are device memory. An empty result
 * launches nothing. No function here waits for the GPU, and each can be captured in a graph: it may depend on addresses
 * and shapes, not on data; dropout's seed and step come from gpu_counters(). A graph's shapes are capacities: rows past
 * the last offset are dummies, sentences past the last real one are empty (offset[i] == offset[i + 1]). */
#ifndef ABLATE_CUDA_OPS_H
#define ABLATE_CUDA_OPS_H
#include "tensor/cuda/runtime.h"
#include "tensor/graph/tape.h"
#include "tensor/graph/views.h"
#include <string.h>
C_BEGIN

#define CUDA_DECLARE(name, in, out, where, place, attributes, doc) CUDA_##where(int cuda_##name(const call *k, err *e);)
OPS(CUDA_DECLARE)
#define CUDA_ENTRY(name, in, out, where, place, attributes, doc) CUDA_##where([OP_##name] = cuda_##name, )

static inline bool is_row_type(dtype t) { return t == F32 || t == BF16; }
static inline int no_kernel(const call *k, err *e) { return no_kernel_on("the GPU", k, e); }

/* Converts a launcher's result to an operation's: 0, or -1 with the GPU's message. */
static inline int launched(int rc, err *e)
{
    return rc ? fail(e, "%s", gpu_error() ? gpu_error() : "a kernel was not launched") : 0;
}

/* Checks a call's types, a letter each: r rows (F32 or BF16, all alike), f F32, i I32, . any. Absent: any. */
static inline int want_types(const call *k, const char *in, const char *out, err *e)
{
    int n = (int)strlen(in), all = n + (int)strlen(out);
    const char *rows = "fp32 or bf16";
    bool known = false;
    for (int i = 0; i < all; i++) {
        const view *v = i < n ? &k->in[i] : &k->out[i - n];
        char want = i < n ? in[i] : out[i - n];
        const char *type = dtype_name(v->type);
        if (want == 'r' && v->data && is_row_type(v->type) && !known) rows = type, known = true;
        const char *expected = want == 'r'   ? rows
                               : want == 'f' ? dtype_name(F32)
                               : want == 'i' ? dtype_name(I32)
                                             : type;
        if (v->data && strcmp(type, expected))
            return fail(e, "%s on the GPU: %s %d is %s, expected %s", op_names[k->op], i < n ? "input" : "output",
                        i < n ? i : i - n, type, expected);
    }
    return 0;
}
/* Kernels need about one block per row; a grid has fewer than 2^31. */
static inline int want_count(const char *what, int64_t rows, err *e)
{
    return rows <= INT32_MAX ? 0 : fail(e, "%s: %lld rows, expected at most 2147483647", what, (long long)rows);
}

/* The elements that a call drops with this probability and place. */
static inline gpu_dropping dropping_of(const call *k, double p, int64_t place)
{
    unsigned least = k->training ? (unsigned)(p * 65536) : 0;
    gpu_dropping d = {(unsigned)place, least, least ? (float)(1 / (1 - p)) : 1};
    return d;
}

/* Input i of a product in bf16: the kept copy of a parameter's values (params.shadow), the data itself if it is bf16,
 * or else a cast into SCRATCH_WEIGHTS. NULL after an error. (ops_product.c) */
const void *cuda_as_bf16(const call *k, int i, err *e);

/* Operations on whole flat vectors (optim.c). */
int cuda_run_tiled(ab_ctx *c, const tiling *t, const run_options *o);
double cuda_sum_squares(const void *v, int64_t n, dtype type);
void cuda_accumulate(void *sum, const void *v, int64_t n, dtype type);
C_END
#ifdef __cplusplus
/* Converts to a pointer to a view's numbers, of any type. */
struct untyped {
    void *at;
    template <class T> operator T *() const { return (T *)at; }
};
static inline untyped data_of(const view *v) { return {v->data}; }
#endif
#endif
