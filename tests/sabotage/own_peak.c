/* Rises to a peak of its own. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static double lr(const void *cfg, const ab_run_plan *p, int64_t step)
{
    (void)cfg;
    return step < p->warmup ? 1e-3 * (double)step / (double)p->warmup : 1e-3;
}

static const ab_option params[] = {{0}};
static const ab_schedule_plugin self = {.lr = lr};
AB_PLUGIN(config, params, &self, .name = "own_peak", .doc = "a warmup to a constant");
