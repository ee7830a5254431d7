/* A schedule that halves a stored rate at every call, whichever update is requested. */
#include "ab_plugin.h"

typedef struct {
    int64_t unused;
} config;

static double lr(const void *cfg, const ab_run_plan *p, int64_t step)
{
    static double kept = 1;
    (void)cfg, (void)step;
    kept *= 0.999;
    return p->lr * kept;
}

static const ab_option params[] = {{0}};
static const ab_schedule_plugin self = {.lr = lr};
AB_PLUGIN(config, params, &self, .name = "rate_remembers", .doc = "counts its own calls");
