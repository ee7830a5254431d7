/* lr d_model^-0.5 min(s^-0.5, s warmup^-1.5). */
#include "ab_plugin.h"
#include <math.h>

static double lr(const void *cfg, const ab_run_plan *p, int64_t step)
{
    (void)cfg;
    double s = (double)step, w = (double)p->warmup, falling = 1 / sqrt(s);
    return p->lr / sqrt((double)p->d_model) * (w > 0 ? fmin(falling, s * pow(w, -1.5)) : falling);
}

static const ab_schedule_plugin self = {.lr = lr};
AB_PLUGIN(char, NULL, &self, .name = "noam",
          .doc = "linear increase over warmup, then decrease with the inverse square root of the update; lr is the "
                 "factor on d_model^-0.5",
          .paper = "Vaswani et al. 2017, section 5.3, eq. 3");
