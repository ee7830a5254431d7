/* A schedule that falls below zero after the middle of the run. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static double lr(const void *cfg, const ab_run_plan *p, int64_t step)
{
    (void)cfg;
    return p->lr * (1 - 2 * (double)step / (double)p->steps);
}

static const ab_option params[] = {{0}};
static const ab_schedule_plugin self = {.lr = lr};
AB_PLUGIN(config, params, &self, .name = "rate_negative", .doc = "below zero");
