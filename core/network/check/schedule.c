/* schedule.c - checks that learning rates are finite and >= 0, and independent of earlier calls and of the process. */
#include "network/check/internal.h"
#include <math.h>

static const ab_run_plan plans[] = {
    {.lr = 1, .lr_min = 0, .warmup = 40, .steps = 1000, .d_model = 512},
    {.lr = 3e-4, .lr_min = 3e-5, .warmup = 0, .steps = 77, .d_model = 16},
    {.lr = 0.5, .lr_min = 0, .warmup = 400, .steps = 100, .d_model = 64}, /* the run ends within its warmup */
    {.lr = 0.1, .lr_min = 0.1, .warmup = 1, .steps = 1, .d_model = 8},
};

int check_some_rates(const plugin *p, const void *cfg, err *e)
{
    for (size_t i = 0; i < LENGTH(plans); i++) {
        const ab_run_plan *plan = &plans[i];
        ab_run_plan twice = *plan;
        double most = 0, by_lr = 0;
        twice.lr *= 2;
        for (int64_t s = 1; s <= plan->steps; s++) {
            double lr = p->iface.schedule.lr(cfg, plan, s);
            by_lr = fmax(by_lr, fabs(p->iface.schedule.lr(cfg, &twice, s) - lr));
            if (!isfinite(lr) || lr < 0)
                return fail(
                    e, "update %lld of %lld (lr %g, lr_min %g, warmup %lld): the rate is %g, expected a number >= 0",
                    (long long)s, (long long)plan->steps, plan->lr, plan->lr_min, (long long)plan->warmup, lr);
            most = fmax(most, lr);
        }
        if (plan->steps > 1 && !(by_lr > 0)) /* a single update may have lr_min */
            return fail(e, "twice the lr of %g changes no rate: expected rates that depend on lr", plan->lr);
        if (!(most > 0)) return fail(e, "%lld updates with lr %g: every rate is 0", (long long)plan->steps, plan->lr);
    }
    return 0;
}

void check_rate(const plugin *p, check_result *r)
{
    CLEANUP(arena_free) arena a = {0};
    err e = {0};
    void *cfg = model_bind_plugin(&a, &(settings){0}, p, &e);
    if (!cfg || check_some_rates(p, cfg, &e)) check_fail(r, "%s", e.text);
    check_note(r, "%zu runs of 1 to 1,000 updates", LENGTH(plans));
}

uint64_t check_hash_rates(const plugin *p, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    void *cfg = model_bind_plugin(&a, &(settings){0}, p, e);
    uint64_t h = 0;
    for (size_t i = 0; cfg && i < LENGTH(plans); i++) {
        for (int64_t s = 1; s <= plans[i].steps; s++) {
            double lr = p->iface.schedule.lr(cfg, &plans[i], s);
            h = 31 * h + hash64(&lr, sizeof lr);
        }
    }
    return h;
}

/* Asks for the rates forwards, then backwards, because a resumed run starts late, and curves are drawn at any time. */
void check_stateless(const plugin *p, check_result *r)
{
    CLEANUP(arena_free) arena a = {0};
    err none = {0}; /* the check 'rate' reports this error */
    void *cfg = model_bind_plugin(&a, &(settings){0}, p, &none);
    for (size_t i = 0; cfg && i < LENGTH(plans) && r->outcome != CHECK_FAIL; i++) {
        const ab_run_plan *plan = &plans[i];
        AUTOFREE double *first = xmalloc((size_t)(plan->steps + 1) * sizeof *first);
        for (int64_t s = 1; s <= plan->steps; s++) first[s] = p->iface.schedule.lr(cfg, plan, s);
        for (int64_t s = plan->steps; s >= 1; s--) {
            double again = p->iface.schedule.lr(cfg, plan, s);
            if (check_beyond(r, fabs(again - first[s])))
                check_fail(r,
                           "the rate of update %lld is %.9g, and %.9g if asked again after later updates: there is "
                           "state between calls, so a resumed run would differ",
                           (long long)s, first[s], again);
        }
    }
    if (r->outcome != CHECK_FAIL) check_elsewhere(p, "rates", r);
}
