/* ops_attention.h - converts calls of attention to arguments of attention.h (ops_attention.c), and the tables of tiles
 * that a tape's attention reads, written once per run for all of its layers (attend_tables.c). */
#ifndef ABLATE_CUDA_OPS_ATTENTION_H
#define ABLATE_CUDA_OPS_ATTENTION_H
#include "tensor/cuda/attention.h"
#include "tensor/graph/tape.h"

static inline gpu_columns columns_of(const view *v, int64_t first)
{
    return (gpu_columns){(char *)v->data + (size_t)first * dtype_size(v->type), v->dim[3]};
}
/* Does the kernel of attend_wgmma.h compute this call? If ABLATE_ATTENTION is "wgmma" and sentences may be long, but
 * the kernel cannot read their rows, the log says so once. */
bool attention_by_wgmma(const call *k);
/* Reads attributes and inputs 0 to 4 of an attention or its gradient: 0, or -1 and why no kernel can compute it. */
int cuda_attention(const call *k, gpu_attention *a, err *e);
/* Reads the attributes and inputs of a decoding step. */
int cuda_attention_step(const call *k, gpu_attention_step *a, err *e);
/* Reads outputs 0 and 1 of a gradient: dq, dk and dv. Clears columns that attention does not write. */
void cuda_attention_gradients(const call *k, gpu_attention *a);

/* ---- tables ---- */

typedef struct attend_tables attend_tables; /* a tape's tables */

/* Writes the tables that depend on offsets of these phases, in one launch if there are any. For the start of a run of
 * these phases, when the offsets are known. *t: NULL before the first run. Returns 0 or -1. */
int attend_tables_write(const ab_ctx *c, attend_tables **t, phase first, phase last);
void attend_tables_free(attend_tables *t);
/* Sets the tables that operations use (NULL: none). Returns the previous ones. */
const attend_tables *attend_tables_use(const attend_tables *t);

/* Sets a->tiles and a->key_tiles for a call of ATTEND, ATTEND_BACK, ATTEND_PROGRAM or ATTEND_PROGRAM_BACK to the tape's
 * tables. Outside a run, or if an operation of the tape computes the offsets, writes tables for this call. Returns 0 or
 * -1. */
int attend_tables_find(const call *k, gpu_attention *a);
#endif
