/* optim.h - the update of the parameters: an optimizer plugin's rule, the learning rate schedule, clipping. */
#ifndef ABLATE_OPTIM_H
#define ABLATE_OPTIM_H
#include "model/model.h"

typedef struct optimizer optimizer;

/* Traces the plugin's rule: once a group of parameters where it is elementwise, else once a parameter. NULL and words when it fails. The
 * model outlives the optimizer. */
optimizer *optim_open(model *m, err *e);
void optim_close(optimizer *o);
/* One update from the gradients in `grad` [params.total], each multiplied by `scale` first and then clipped
 * to cfg.clip_norm when that is set. step counts from 1. With a rule that is not elementwise params.grad is overwritten by `grad`. *norm (may be NULL): the gradient's norm after
 * scaling. */
int optim_update(optimizer *o, const void *grad, double scale, double lr, int64_t step, double *norm, err *e);

/* The learning rate of update `step` = 1, 2, ...: what the run's schedule says. */
double schedule_lr(const model *m, int64_t step);
#endif
