/* plot.h - one chart of an experiment, for a paper or for another program. */
#ifndef ABLATE_REPORT_PLOT_H
#define ABLATE_REPORT_PLOT_H
#include "lab/draw/chart.h"
#include "lab/results/read.h"

typedef struct {
    const char *experiment; /* NULL: the latest */
    const char *beside;     /* forest: a second experiment, drawn at the right; or NULL */
    const char *metric;     /* NULL: the headline metric, or over steps the first curve whose name starts with dev */
    const char *over;       /* "step" (also NULL), "params", "flops", "time", "trials", or a key that rows change */
    const char *by;         /* a key: one series per value; NULL: one series, or over steps one per row */
    const char *bars;       /* "sd" (also NULL), "range" (smallest and largest seed) or "none" */
    const char *title;
    bool log_x, log_y, forest; /* forest: differences from base with intervals; over and by are ignored */
    double width, height;      /* 0: 420 x 280 */
    const char *to;            /* .svg, .pdf, .png, .gp (gnuplot), .json (Vega-Lite) or .csv */
} plot_options;

/* Writes a chart in the format of the file's ending, one of those listed at plot_options.to. */
int plot_file(const chart *c, const series *s, size_t n, const char *to, err *e);
/* Writes the chart to o->to. Reports omitted rows on standard error. */
int plot_write(reader *r, const plot_options *o, err *e);
#endif
