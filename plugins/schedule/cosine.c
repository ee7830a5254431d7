/* Linear increase to lr over warmup, then half a cosine down to lr_min at the last update. */
#include "ab_plugin.h"
#include <math.h>

static double lr(const void *cfg, const ab_run_plan *p, int64_t step)
{
    (void)cfg;
    double s = (double)step, w = (double)p->warmup, n = (double)p->steps;
    if (s < w) return p->lr * s / w;
    double fallen = n > w ? fmin(1, (s - w) / (n - w)) : 1;
    return p->lr_min + (p->lr - p->lr_min) * (1 + cos(3.14159265358979323846 * fallen)) / 2;
}

static const ab_schedule_plugin self = {.lr = lr};
AB_PLUGIN(char, NULL, &self, .name = "cosine",
          .doc = "linear increase over warmup, then half a cosine down to lr_min at the last update",
          .paper = "Loshchilov and Hutter 2017 (SGDR), eq. 5");
