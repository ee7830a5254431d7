/* norm.c - layer normalisation of a residual sum with dropout (Ba et al. 2016; Vaswani et al. 2017, 5.4). */
#include "tensor/cpu/fused.h"
#include "tensor/cpu/vectors.h"
#include <stdlib.h>

enum { MOST_CHUNKS = 64 }; /* chunks of rows over which the gradients of gain and bias are summed */

/* Arguments of both passes; rows [rows,width]; statistics and parameters are F32, or F64 if rows are F64. */
typedef struct {
    int64_t rows, width;
    const void *x, *s, *gain, *bias; /* s: NULL for none */
    void *y, *z, *stats;             /* z: NULL when there is no s */
    const void *dy;                  /* gradient of y; in the backward pass x points to z */
    void *dz, *ds, *dgain, *dbias;   /* ds: NULL when it would equal dz */
    double eps;
    dropout drop;
} norm_args;

#define OF_EACH_TYPE "tensor/cpu/norm.inc"
#include "tensor/cpu/each_type.h"

int cpu_NORM(const call *k, err *e)
{
    (void)e;
    norm_args a = {.rows = rows_of(&k->i.NORM.x),
                   .width = width_of(&k->i.NORM.x),
                   .x = k->i.NORM.x.data,
                   .s = k->i.NORM.s.data,
                   .gain = k->i.NORM.gain.data,
                   .bias = k->i.NORM.bias.data,
                   .y = k->o.NORM.y.data,
                   .z = k->i.NORM.s.data ? k->o.NORM.z.data : NULL,
                   .stats = k->o.NORM.stats.data,
                   .eps = k->a.NORM.eps,
                   .drop = dropout_of(k, k->a.NORM.p, k->a.NORM.place)};
    BY_TYPE(k->i.NORM.x.type, norm, &a);
    return 0;
}

int cpu_NORM_BACK(const call *k, err *e)
{
    norm_args a = {.rows = rows_of(&k->i.NORM_BACK.z),
                   .width = width_of(&k->i.NORM_BACK.z),
                   .x = k->i.NORM_BACK.z.data,
                   .stats = k->i.NORM_BACK.stats.data,
                   .gain = k->i.NORM_BACK.gain.data,
                   .dy = k->i.NORM_BACK.dy.data,
                   .dz = k->o.NORM_BACK.dz.data,
                   .ds = k->a.NORM.has_sublayer ? k->o.NORM_BACK.ds.data : NULL,
                   .dgain = k->o.NORM_BACK.d_gain.data,
                   .dbias = k->o.NORM_BACK.d_bias.data,
                   .drop = dropout_of(k, k->a.NORM.p, k->a.NORM.place)};
    BY_TYPE(k->i.NORM_BACK.z.type, norm_back, &a);
    call sums = {.op = OP_COLUMN_SUM,
                 .n_in = 1,
                 .n_out = 1,
                 .in = {a.ds ? k->o.NORM_BACK.ds : k->o.NORM_BACK.dz},
                 .out = {k->o.NORM_BACK.sums}};
    return sums.out[0].data ? cpu_COLUMN_SUM(&sums, e) : 0;
}
