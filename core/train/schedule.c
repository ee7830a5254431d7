/* schedule.c - learning rates over the steps of a run. */
#include "train/optim.h"
#include <math.h>

double schedule_lr(const config *c, int64_t step)
{
    double s = (double)step, w = (double)c->warmup, n = (double)c->steps;
    if (c->schedule == SCHEDULE_NOAM)
        return c->lr / sqrt((double)c->d_model) * fmin(1 / sqrt(s), w > 0 ? s * pow(w, -1.5) : 1 / sqrt(s));
    if (s < w) return c->lr * s / w;
    double rest = n > w ? fmin(1, (s - w) / (n - w)) : 1; /* share of the way down */
    switch (c->schedule) {
    case SCHEDULE_LINEAR: return c->lr_min + (c->lr - c->lr_min) * (1 - rest);
    case SCHEDULE_COSINE:
        return c->lr_min + (c->lr - c->lr_min) * (1 + cos(3.14159265358979323846 * rest)) / 2;
    default: return c->lr;
    }
}
