/* ce.c - label-smoothed cross-entropy (Szegedy et al. 2016) and its gradient, a row of logits at a time. */
#include "tensor/cpu/fused.h"
#include "tensor/cpu/vectors.h"

typedef struct {
    int64_t rows, width;       /* width: the vocabulary */
    const int32_t *target;     /* [rows]; negative: no token here */
    const void *logits, *norm; /* norm [1], with the type of losses */
    void *losses, *grad;       /* [rows,2]; grad NULL when not wanted, may be the logits */
    double on, others;         /* probability added at the target; probability of every word */
} ce_args;

#define OF_EACH_TYPE "tensor/cpu/ce.inc"
#include "tensor/cpu/each_type.h"

int cpu_CE(const call *k, err *e)
{
    int64_t rows = rows_of(&k->i.CE.logits), v = width_of(&k->i.CE.logits);
    if (k->a.CE.padding)
        return fail(e, "cross-entropy: rows with %lld columns of padding, which the CPU does not support",
                    (long long)k->a.CE.padding);
    const int32_t *target = k->i.CE.targets.data;
    double eps = k->a.CE.smoothing, others = k->a.CE.others ? eps / (double)(v > 1 ? v - 1 : 1) : eps / (double)v;
    for (int64_t r = 0; r < rows; r++)
        if (target[r] >= v)
            return fail(e, "cross-entropy: target %d in row %lld, but the vocabulary has %lld ids", target[r],
                        (long long)r, (long long)v);
    ce_args a = {.rows = rows,
                 .width = v,
                 .target = target,
                 .logits = k->i.CE.logits.data,
                 .norm = k->i.CE.norm.data,
                 .losses = k->o.CE.losses.data,
                 .grad = k->a.CE.gradient ? k->o.CE.d_logits.data : NULL,
                 .on = 1 - eps - (k->a.CE.others ? others : 0),
                 .others = others};
    BY_TYPE(k->i.CE.logits.type, ce, &a);
    return 0;
}
