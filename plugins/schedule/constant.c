/* Linear increase to lr over warmup, then lr. */
#include "ab_plugin.h"

static double lr(const void *cfg, const ab_run_plan *p, int64_t step)
{
    (void)cfg;
    return step < p->warmup ? p->lr * (double)step / (double)p->warmup : p->lr;
}

static const ab_schedule_plugin self = {.lr = lr};
AB_PLUGIN(char, NULL, &self, .name = "constant", .doc = "linear increase over warmup, then constant");
