/* unit.c - UNIT: rows divided by their length. */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"

typedef struct {
    const void *x, *dy; /* backward: x is y */
    void *y, *factor;   /* backward: y is dx */
    int64_t n;
    double eps;
} unit;

#define OF_EACH_REAL "tensor/cpu/unit.inc"
#include "tensor/cpu/each_real.h"

int cpu_UNIT(const call *k, err *e)
{
    const view *x = &k->i.UNIT.x, *y = &k->o.UNIT.y;
    if (!is_real(x) || y->type != x->type) return wrong_type(k, e);
    unit u = {.x = x->data, .y = y->data, .factor = k->o.UNIT.factor.data, .n = x->dim[3], .eps = k->a.UNIT.eps};
    if (u.n) over_range(count_of(x) / u.n, 1, count_of(x) / 4, OF_TYPE(x, unit_rows), &u);
    return 0;
}

int cpu_UNIT_BACK(const call *k, err *e)
{
    const view *y = &k->i.UNIT_BACK.y, *dy = &k->i.UNIT_BACK.dy;
    if (!is_real(y) || dy->type != y->type) return wrong_type(k, e);
    unit u = {.x = y->data,
              .dy = dy->data,
              .y = k->o.UNIT_BACK.dx.data,
              .factor = k->i.UNIT_BACK.factor.data,
              .n = y->dim[3]};
    if (u.n) over_range(count_of(y) / u.n, 1, count_of(y) / 4, OF_TYPE(y, unit_back_rows), &u);
    return 0;
}
