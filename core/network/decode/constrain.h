/* constrain.h - decodes under a task's constraints, or decodes again under them if the task refused all outputs. */
#ifndef ABLATE_CONSTRAIN_H
#define ABLATE_CONSTRAIN_H
#include "network/decode/beam.h"

typedef struct {
    const ab_task_plugin *task;
    void *self;
    const vocab *src, *tgt;
    bool constrains, always; /* `always`: the constraints apply to all outputs; else only to refused ones */
} task_rules;

/* Passes the target vocabulary to the task. Borrows its arguments. */
int task_rules_open(task_rules *r, const ab_task_plugin *task, void *self, const vocab *src, const vocab *tgt, err *e);

typedef struct {     /* numbers of outputs by origin, which add up to the number of sentences */
    int64_t first;   /* the best hypothesis was accepted */
    int64_t in_beam; /* another hypothesis of the beam was accepted */
    int64_t again;   /* the output of a second, constrained search was accepted */
    int64_t refused; /* no output was accepted */
} task_routes;

/* Runs beam search over p; lines [p->n]: p's source lines. out [p->n]: the output lines, freed with decoded_free.
 * routes and stats may be NULL. Overrides o->nbest and o->mask. */
int task_decode(model *m, const task_rules *r, const pairs *p, const char *const *lines, const beam_options *o,
                char **out, beam_stats *stats, task_routes *routes, err *e);
#endif
