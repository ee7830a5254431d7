/* together.h - nodes that run together with a later node: gradients of the same weights of several layers, as one batch
 * of products, and a product with the norm of its result (together.c). */
#ifndef ABLATE_TOGETHER_H
#define ABLATE_TOGETHER_H
#include "tensor/graph/grad.h"

/* Finds the groups, whose inputs then live until the last member runs, and in decoding the products that only a norm
 * reads, which run with the norm. Call it when the last readers are known. */
void together_find(ab_ctx *c);
/* Reserves a slab for each input that a group's members do not share. Call it after storage is shared. */
void together_reserve(ab_ctx *c);
/* Makes batches of the groups whose members lie at equal steps. Call it when values have addresses. */
void together_settle(ab_ctx *c);

/* ---- defined in plan.c ---- */
int32_t plan_storage(const ab_ctx *c, int32_t i); /* first of the values that must share i's storage */
int32_t plan_root(const ab_ctx *c, int32_t i);    /* the value whose storage i shares */
bool plan_may_place(const ab_ctx *c, int32_t i);  /* is i placed in the arena only when its node runs? */
#endif
