/* figures.h - the figures of an experiment's page, each as HTML with SVG inside. All append to `out`; nothing when there
 * is nothing to show. */
#ifndef ABLATE_REPORT_FIGURES_H
#define ABLATE_REPORT_FIGURES_H
#include "draw/chart.h"
#include "report/factors.h"

/* All curves of one run, and the row it belongs to. */
typedef struct {
    const read_run *run;
    read_curve *curves;
    size_t n, row;
} run_curves;

/* Differences of the headline metric to base, with intervals where the table has them. */
void figure_forest(const gathered *g, str *out);
/* Learning curves: one block per metric, in it facets of at most six rows and base. */
void figure_curves(const gathered *g, const run_curves *runs, size_t n, arena *a, str *out);
/* The headline metric against the number of parameters and against training FLOPs. */
void figure_cost(const gathered *g, arena *a, str *out);
/* Heat map and interaction plot of every two-factor grid. */
void figure_grids(const gathered *g, arena *a, str *out);

/* Takes d, appends it themed; NULL is fine. */
void figure_put(drawing *d, str *out);
/* Training FLOPs of a row's runs: those of one step times steps; NaN unknown. */
double training_flops(const read_row *row);
#endif
