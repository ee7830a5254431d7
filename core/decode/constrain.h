/* constrain.h - decoding as a task wants it: under its constraints, or with a second try for what it refuses.
 */
#ifndef ABLATE_CONSTRAIN_H
#define ABLATE_CONSTRAIN_H
#include "decode/beam.h"

typedef struct {
    const ab_task_plugin *task;
    void *self;
    const vocab *src, *tgt;
    bool constrains, always; /* the task has constraints; it wants them on every output */
} task_rules;

/* Tells the task the target side's tokens. Everything given is borrowed. */
int task_rules_open(task_rules *r, const ab_task_plugin *task, void *self, const vocab *src, const vocab *tgt,
                    err *e);

typedef struct {     /* outputs by the way they came; their sum is the number of sentences */
    int64_t first;   /* the best hypothesis is accepted */
    int64_t in_beam; /* another one of the beam is */
    int64_t again;   /* none was; that of a second search, under the constraints, is */
    int64_t refused; /* none is */
} task_routes;

/* Beam search over p; lines [p->n]: its source lines. out [p->n]: the output lines, freed by decoded_free.
 * routes, stats may be NULL. o->nbest and o->mask are set here. */
int task_decode(model *m, const task_rules *r, const pairs *p, const char *const *lines,
                const beam_options *o, char **out, beam_stats *stats, task_routes *routes, err *e);
#endif
