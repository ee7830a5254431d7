/* plan.h - before the runs: how many seeds show a wanted difference, what they cost, and the chance to see it. */
#ifndef ABLATE_REPORT_PLAN_H
#define ABLATE_REPORT_PLAN_H
#include "report/gather.h"

typedef struct {
    const char *experiment; /* the planned one */
    size_t rows;            /* that are compared with base, base not counted */
    double effect;          /* wanted, in the metric's unit; a change in percent for PPL */
    const char *metric;     /* NULL: the headline of the runs that are there */
    double sd;              /* over seeds, NaN: from the runs that are there */
    const gathered *runs;   /* of this experiment or one like it; NULL: none */
} plan_task;

/* Appends the plan as text. -1 and words: no standard deviation is known, or the metric is not. */
int plan_print(const plan_task *t, str *out, err *e);
#endif
