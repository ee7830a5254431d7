/* groups.h - settings of the optimizer for some of the parameters: the key parameter_groups.
 *
 *     parameter_groups = norm bias: decay=0 | embedding: lr=0.5 decay=0
 *
 * Groups stand between |. Before the colon: kinds of parameters (weight, bias, norm, embedding, position) or patterns of names with * and ?;
 * behind it: parameters of the optimizer plugin, and lr, a factor on the learning rate. A parameter belongs to the first group that
 * matches it, or to none and has the run's own settings. */
#ifndef ABLATE_GROUPS_H
#define ABLATE_GROUPS_H
#include "model/model.h"

enum { MOST_GROUPS = 16 }; /* with that of the run's own settings, which is group 0 */
struct param_group {
    const char *text; /* as written; "" for group 0 */
    double lr;        /* factor */
    void *cfg;        /* the optimizer's settings */
    int64_t parameters, numbers;
};

/* Reads m->cfg.parameter_groups, gives each parameter its group and its place, and the slots their shapes, before there is memory for
 * them. -1 and words where a pattern matches nothing or a setting is none of the optimizer's. */
int groups_make(model *m, err *e);
/* "norm bias: decay=0 (26 parameters, 6656 numbers)": appended, nothing without groups. */
void groups_describe(const model *m, str *out);
#endif
