/* Warmup, stable, decay: linear increase to lr over warmup, then lr, then linear decrease to lr_min at the end. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    double decay;
} config;

static double lr(const void *cfg, const ab_run_plan *p, int64_t step)
{
    double s = (double)step, w = (double)p->warmup, n = (double)p->steps, length = ((const config *)cfg)->decay * n;
    if (s < w) return p->lr * s / w;
    double fallen = length > 0 ? fmax(0, fmin(1, (s - (n - length)) / length)) : 0;
    return p->lr_min + (p->lr - p->lr_min) * (1 - fallen);
}

static const ab_option params[] = {{"decay", AB_REAL, offsetof(config, decay), 0.1, 0, 1, 0,
                                    "last part of the run, in which the rate decreases [share of steps]"},
                                   {0}};
static const ab_schedule_plugin self = {.lr = lr};
AB_PLUGIN(config, params, &self, .name = "wsd",
          .doc = "linear increase over warmup, constant, linear decrease to lr_min over the last part of the run",
          .paper = "Hu et al. 2024 (MiniCPM), section 4");
