/* schedule.c - asks the run's schedule plugin for learning rates. */
#include "network/train/optim.h"

double schedule_lr(const model *m, int64_t step)
{
    const config *c = &m->cfg;
    ab_run_plan plan = {
        .lr = c->lr, .lr_min = c->lr_min, .warmup = c->warmup, .steps = c->steps, .d_model = c->d_model};
    return m->schedule->iface.schedule.lr(m->schedule_cfg, &plan, step);
}
