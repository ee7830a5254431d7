/* ops_attention.h - converts calls of attention to arguments of attention.h, for ops_attention.c and ops_score.c. */
#ifndef ABLATE_CUDA_OPS_ATTENTION_H
#define ABLATE_CUDA_OPS_ATTENTION_H
#include "tensor/cuda/attention.h"
#include "tensor/graph/tape.h"

static inline gpu_columns columns_of(const view *v, int64_t first)
{
    return (gpu_columns){(char *)v->data + (size_t)first * dtype_size(v->type), v->dim[3]};
}
/* The attributes and inputs 0 to 4 of ATTEND, ATTEND_PROGRAM or a gradient of them. Returns 0, or -1 and why no kernel
 * supports them. */
int cuda_attention(const call *k, gpu_attention *a, err *e);
/* The same for a decoding step. */
int cuda_attention_step(const call *k, gpu_attention_step *a, err *e);
/* Outputs 0 and 1 of a gradient: dq, dk and dv. Sets columns that attention does not write to zero. */
void cuda_attention_gradients(const call *k, gpu_attention *a);
#endif
