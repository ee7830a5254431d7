/* plot.h - one chart of an experiment, for a paper or for another program. */
#ifndef ABLATE_REPORT_PLOT_H
#define ABLATE_REPORT_PLOT_H
#include "draw/chart.h"
#include "results/read.h"

typedef struct {
    const char *experiment; /* NULL: the latest */
    const char *metric;     /* NULL: the headline; over steps: the first curve whose name begins with dev */
    const char *over;       /* "step" (NULL too), "params", "flops", "time", or a key that rows change */
    const char *by;         /* a key: one series per value; NULL: one series, over steps one per row */
    const char *bars;       /* "sd" (NULL too), "range" (least and greatest seed) or "none" */
    const char *title;
    bool log_x, log_y, forest; /* forest: differences to base with intervals; over and by are not used */
    double width, height;      /* 0: 420 x 280 */
    const char *to; /* .svg, .pdf, .png, .gp (gnuplot), .json (Vega-Lite) or .csv */
} plot_options;

/* Writes the chart to o->to. Says on standard error what it left out. PNG takes the program rsvg-convert. */
int plot_write(reader *r, const plot_options *o, err *e);
#endif
