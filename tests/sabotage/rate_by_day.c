/* A schedule that depends on the day. */
#include "ab_plugin.h"
#include <time.h>

typedef struct {
    int64_t unused;
} config;

static double lr(const void *cfg, const ab_run_plan *p, int64_t step)
{
    (void)cfg, (void)step;
    return p->lr * (1 + 1e-9 * (double)(time(NULL) / 86400));
}

static const ab_option params[] = {{0}};
static const ab_schedule_plugin self = {.lr = lr};
AB_PLUGIN(config, params, &self, .name = "rate_by_day", .doc = "falls from day to day");
