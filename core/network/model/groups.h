/* groups.h - optimizer settings for groups of parameters: the key parameter_groups.
 *
 *     parameter_groups = norm bias: decay=0 | embedding: lr=0.5 decay=0
 *
 * Groups are separated by |. Before the colon: kinds of parameters (weight, bias, norm, embedding, position) or
 * patterns of names with * and ?; after it: parameters of the optimizer plugin, and lr, a factor on the learning rate.
 * A parameter belongs to the first group that matches it; without a match it has the run's settings. */
#ifndef ABLATE_GROUPS_H
#define ABLATE_GROUPS_H
#include "network/model/model.h"

enum { MOST_GROUPS = 16 }; /* largest number of groups, counting group 0, which has the run's settings */
struct param_group {
    const char *text; /* the group as written in the setting; "" for group 0 */
    double lr;        /* factor */
    void *cfg;        /* the optimizer's settings */
    int64_t parameters, numbers;
};

/* Reads m->cfg.parameter_groups and sets each parameter's group and place and the slots' shapes, before memory is
 * allocated. Returns 0, or -1 and e if a pattern matches nothing or the optimizer lacks a setting. */
int groups_make(model *m, err *e);
/* Appends "norm bias: decay=0 (26 parameters, 6656 numbers)" for each group; appends nothing if there are no groups. */
void groups_describe(const model *m, str *out);
#endif
