/* norm.c - layer normalisation of a residual sum with its dropout (Ba et al. 2016; Vaswani et al. 2017,
 * section 5.4). */
#include "tensor/cpu/fused.h"
#include "tensor/cpu/vectors.h"
#include <stdlib.h>

enum { MOST_CHUNKS = 64 }; /* of rows, over which the gradients of gain and bias are summed */

/* Arguments of both passes; rows [rows,width]; statistics and parameters are F32, or F64 beside F64 rows. */
typedef struct {
    int64_t rows, width;
    const void *x, *s, *gain, *bias; /* s: NULL for none */
    void *y, *z, *stats;             /* z: NULL when there is no s */
    const void *dy;                  /* backward: x is z */
    void *dz, *ds, *dgain, *dbias;   /* ds: NULL when it would equal dz */
    double eps;
    dropout drop;
} norm_args;

#define S f32
#include "tensor/cpu/norm.inc"
#undef S
#define S f64
#include "tensor/cpu/norm.inc"
#undef S
#define S bf16
#include "tensor/cpu/norm.inc"
#undef S

int cpu_NORM(const call *k, err *e)
{
    (void)e;
    norm_args a = {.rows = rows_of(&k->in[0]),
                   .width = width_of(&k->in[0]),
                   .x = k->in[0].data,
                   .s = k->in[1].data,
                   .gain = k->in[2].data,
                   .bias = k->in[3].data,
                   .y = k->out[0].data,
                   .z = k->in[1].data ? k->out[1].data : NULL,
                   .stats = k->out[2].data,
                   .eps = k->a.NORM.eps,
                   .drop = dropout_of(k, k->a.NORM.p, k->a.NORM.place)};
    BY_TYPE(k->in[0].type, norm, &a);
    return 0;
}

int cpu_NORM_BACK(const call *k, err *e)
{
    norm_args a = {.rows = rows_of(&k->in[0]),
                   .width = width_of(&k->in[0]),
                   .x = k->in[0].data,
                   .stats = k->in[1].data,
                   .gain = k->in[2].data,
                   .dy = k->in[3].data,
                   .dz = k->out[0].data,
                   .ds = k->a.NORM.has_sublayer ? k->out[1].data : NULL,
                   .dgain = k->out[2].data,
                   .dbias = k->out[3].data,
                   .drop = dropout_of(k, k->a.NORM.p, k->a.NORM.place)};
    BY_TYPE(k->in[0].type, norm_back, &a);
    call sums = {.op = OP_COLUMN_SUM, .n_in = 1, .n_out = 1, .in = {a.ds ? k->out[1] : k->out[0]}, .out = {k->out[4]}};
    return sums.out[0].data ? cpu_COLUMN_SUM(&sums, e) : 0;
}
