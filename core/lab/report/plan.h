/* plan.h - planning before training: seeds needed to detect a difference, their cost, and the power. */
#ifndef ABLATE_REPORT_PLAN_H
#define ABLATE_REPORT_PLAN_H
#include "lab/report/gather.h"

typedef struct {
    const char *experiment; /* the planned experiment's name */
    size_t rows, bases;     /* rows: compared with base; bases: one, or one per condition */
    size_t seeds, of_base;  /* seeds in the INI: of a row, of base; printed if of_base is larger */
    double effect;          /* difference to detect, in the metric's unit; for PPL a change in percent */
    const char *metric;     /* NULL: the headline metric of the existing runs */
    double sd;              /* standard deviation over seeds; NaN: computed from the existing runs */
    const gathered *runs;   /* existing runs of this experiment or a similar one; NULL: none */
} plan_task;

/* Appends the plan as text. -1 and a message: standard deviation or metric unknown. */
int plan_print(const plan_task *t, str *out, err *e);
#endif
