/* figures.h - the figures of an experiment's page, as HTML with SVG inside. All append to `out`, or nothing. */
#ifndef ABLATE_REPORT_FIGURES_H
#define ABLATE_REPORT_FIGURES_H
#include "lab/draw/chart.h"
#include "lab/report/cost.h"
#include "lab/report/factors.h"

/* All curves of one run, and the run's row. */
typedef struct {
    const read_run *run;
    read_curve *curves;
    size_t n, row;
} run_curves;

/* Differences of the headline metric from base, with intervals if the table has them. */
void figure_forest(const gathered *g, str *out);
/* Draws the forest plot alone, at a given width; NULL: no base, or nothing to compare. */
drawing *forest_of(const gathered *g, double width);
/* Draws the forest plots of two experiments side by side; NULL: an experiment has no forest plot. */
drawing *forest_of_two(const gathered *const g[2], double width);
/* Learning curves: one block per metric, with facets of at most six rows and base. */
void figure_curves(const gathered *g, const run_curves *runs, size_t n, arena *a, str *out);
/* The headline metric against the number of parameters and against training FLOPs. */
void figure_cost(const gathered *g, arena *a, str *out);
/* Main effects and interactions of two-level designs, as forest plots (effects.c). */
void figure_effects(const gathered *g, str *out);
/* Heat map and interaction plot of every two-factor grid. */
void figure_grids(const gathered *g, arena *a, str *out);

/* A curve; low, high: NULL for one seed. curve_thin keeps at most `keep` evenly spaced points, both ends included. */
typedef struct {
    size_t n;
    double *x, *y, *low, *high;
} curve_line;
void curve_thin(curve_line *l, size_t keep);
/* Computes the mean over curves, and mean -+ sample standard deviation, at their common steps. n > 0. */
curve_line curve_mean(const read_curve *const *of, size_t n, arena *a);
const read_curve *curve_of(const run_curves *r, const char *metric); /* NULL: the run has no such curve */
/* Loads the curves of all runs; the caller frees *out. */
int curves_load(reader *r, const gathered *g, arena *a, run_curves **out, size_t *n, err *e);

/* Takes ownership of d and appends it with the page's theme; NULL is allowed. */
void figure_put(drawing *d, str *out);
/* Returns the line whose points are in v [4][n]: x, y, low, high. */
curve_line line_points(double *v, size_t n);
/* A line of this colour and pattern of dashes, without marks. */
series line_series(const char *name, int color, int dash, const curve_line *l);
#endif
