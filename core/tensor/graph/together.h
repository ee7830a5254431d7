/* together.h - nodes that run with a later one: gradients of the same weights of several layers, as one batch of
 * products, and a product with the norm of its result (together.c). */
#ifndef ABLATE_TOGETHER_H
#define ABLATE_TOGETHER_H
#include "tensor/graph/grad.h"

/* After the last readers are known: finds the groups, whose inputs then live until the last member; and, in decoding,
 * the products that only a norm reads, which run with it. */
void together_find(ab_ctx *c);
/* After storage is shared: a slab for each input that the members do not share. */
void together_reserve(ab_ctx *c);
/* After values have addresses: groups whose members lie at equal steps become batches. */
void together_settle(ab_ctx *c);

/* ---- defined in plan.c ---- */
int32_t plan_storage(const ab_ctx *c, int32_t i); /* the first value over which this one is written by force */
int32_t plan_root(const ab_ctx *c, int32_t i);    /* the value whose storage it shares */
bool plan_may_place(const ab_ctx *c, int32_t i);  /* does it get a place in the arena when its node runs? */
#endif
