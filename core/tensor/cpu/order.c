/* order.c - TOP_K, MAX, TO_IDS, RANDOM: ids computed from numbers, and noise (Philox, Salmon et al. 2011). */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"
#include <stdlib.h>

typedef struct {
    int32_t *ids;
    const void *x;
    int64_t n, k;
    bool smallest;
} ordering;
typedef struct {
    const void *x, *y, *dy; /* y, dy: only for gradients */
    void *out;
    int64_t n;
} largest;
typedef struct {
    void *y;
    int64_t n;
    uint32_t place, step, key[2];
    bool normal;
} noise;

enum { FEW = 16 }; /* up to this k, a sorted list collects the first ones; for larger k the whole line is sorted */

#define OF_EACH_REAL "tensor/cpu/order_rows.h"
#include "tensor/cpu/each_real.h"

int cpu_TOP_K(const call *k, err *e)
{
    const view *x = &k->i.TOP_K.x, *y = &k->o.TOP_K.y;
    if (!is_real(x) || y->type != I32) return wrong_type(k, e);
    ordering o = {y->data, x->data, width_of(x), k->a.TOP_K.k, k->a.TOP_K.smallest != 0};
    over_range(rows_of(x), 1, 16 * count_of(x), OF_TYPE(x, first_places), &o);
    return 0;
}

int cpu_MAX(const call *k, err *e)
{
    const view *x = &k->i.MAX.x, *y = &k->o.MAX.y;
    if (!is_real(x) || y->type != x->type) return wrong_type(k, e);
    over_range(rows_of(x), 1, count_of(x), OF_TYPE(x, largest), &(largest){x->data, NULL, NULL, y->data, width_of(x)});
    return 0;
}
int cpu_MAX_BACK(const call *k, err *e)
{
    const view *x = &k->i.MAX_BACK.x, *y = &k->i.MAX_BACK.y, *dy = &k->i.MAX_BACK.dy, *dx = &k->o.MAX_BACK.dx;
    if (!is_real(x) || y->type != x->type || dy->type != x->type || dx->type != x->type) return wrong_type(k, e);
    over_range(rows_of(x), 1, count_of(x), OF_TYPE(x, largest_back),
               &(largest){x->data, y->data, dy->data, dx->data, width_of(x)});
    return 0;
}

int cpu_TO_IDS(const call *k, err *e)
{
    const view *x = &k->i.TO_IDS.x, *y = &k->o.TO_IDS.y;
    if (!is_real(x) || y->type != I32) return wrong_type(k, e);
    over_range(count_of(y), 64, count_of(y), OF_TYPE(x, whole), &(ordering){.ids = y->data, .x = x->data});
    return 0;
}

int cpu_RANDOM(const call *k, err *e)
{
    const view *y = &k->o.RANDOM.y;
    if (!is_real(y)) return wrong_type(k, e);
    noise r = {y->data,
               count_of(y),
               (uint32_t)k->a.RANDOM.place,
               (uint32_t)k->step,
               {(uint32_t)k->seed, (uint32_t)(k->seed >> 32)},
               k->a.RANDOM.normal != 0};
    over_range((r.n + 3) / 4, 1, 16 * r.n, OF_TYPE(y, noise), &r);
    return 0;
}
