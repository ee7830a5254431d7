/* estimate_run.c - counts a run's work in advance: updates, evaluations, decoding, trials of its search. */
#include "lab/sweep/estimate_child.h"
#include "network/plugin/plugin.h"
#include <math.h>

static double times(double steps, int64_t every) { return every > 0 ? ceil(steps / (double)every) : 0; }

/* Counts the evaluations: in training (loop.c), of averaged weights, and for the table's scores. */
static double evaluations_of(const config *c, double updates)
{
    return times(updates, c->eval_every) + (c->average_checkpoints > 1) + 1;
}

run_counts count_run(const config *c, const group *g, double steps, double step_seconds, bool trial)
{
    const split_size *dev = &g->split[AB_DEV], *test = &g->split[AB_TEST];
    run_counts n = {.updates = steps -= fmin(steps, (double)c->start_step)};
    double limit = 0;
    err none = {0};
    if (!config_seconds(c->max_time, &limit, &none) && limit > 0 && steps * step_seconds > limit)
        n.updates = limit / step_seconds;
    bool decoder_only = !plugin_task_has_source(c->task), nothing = trial || c->decode_split == DECODE_NONE,
         on_dev = !nothing && c->decode_split != DECODE_TEST, on_test = !nothing && c->decode_split != DECODE_DEV;
    n.evaluations = evaluations_of(c, n.updates);
    n.saves = times(n.updates, c->save_every);
    n.evaluated = n.evaluations * dev->tgt + (on_test ? test->tgt : 0);
    if (!decoder_only) n.decoded = (on_dev ? dev->tgt : 0) + (on_test ? test->tgt : 0);
    return n;
}
