/* optim.h - the update of the parameters: an optimizer plugin's rule, the learning rate schedule, clipping. */
#ifndef ABLATE_OPTIM_H
#define ABLATE_OPTIM_H
#include "network/model/model.h"

typedef struct optimizer optimizer;

/* Traces the plugin's rule (update and, if defined, refresh, measure and shift), once per group of parameters if it is
 * elementwise, else once per parameter. NULL and e on failure. The model must outlive the optimizer. */
optimizer *optim_open(model *m, err *e);
void optim_close(optimizer *o);
/* One update from the gradients `grad` [params.learned], multiplied by `scale` and then clipped to cfg.clip_norm, if
 * set. step counts from 1. A rule that is not elementwise overwrites params.grad with `grad`. *norm (may be NULL): the
 * gradient's norm after scaling. */
int optim_update(optimizer *o, const void *grad, double scale, double lr, int64_t step, double *norm, err *e);

/* Before updates of a rule with shift: f computes the gradient of the last batch again, in params.grad, and returns 0,
 * or -1 and e. Without f the second gradient is the first. */
void optim_again(optimizer *o, int (*f)(void *self, err *e), void *self);

/* For checks. optim_sums: the last update's sums [AB_MEASURED], in backend memory. optim_tape: tape i or NULL. */
const void *optim_sums(const optimizer *o);
ab_ctx *optim_tape(const optimizer *o, size_t i);

/* Swaps the parameters with the slot that has their values for evaluation (ab_optimizer_plugin.evaluated); a second
 * call swaps them back. Call it after an update. Does nothing without such a slot. Returns 0, or -1 and e if a device
 * failed. */
int optim_exchange(model *m, err *e);

/* The learning rate of update `step` = 1, 2, ..., from the run's schedule. */
double schedule_lr(const model *m, int64_t step);
#endif
