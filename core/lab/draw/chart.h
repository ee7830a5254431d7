/* chart.h - charts with two axes: lines with bands, points with error bars, direct labels. */
#ifndef ABLATE_DRAW_CHART_H
#define ABLATE_DRAW_CHART_H
#include "lab/draw/drawing.h"

/* n points; x must ascend if a line joins them. NaN is a gap. low, high: an interval around each y, or NULL. */
typedef struct {
    const char *name; /* label beside the line or point; NULL: none */
    const char *key;  /* the argument `key` of draw_open; NULL: none */
    const char *hint; /* tooltip; NULL: name */
    int color, dash, marker;
    bool line, points, band; /* band: draws the interval as an area along the line, else as error bars */
    bool faint;              /* drawn thin and pale, as context */
    size_t n;
    const double *x, *y, *low, *high;
} series;

typedef struct {
    const char *title, *x_label, *y_label;
    const char *description; /* the text alternative; NULL: title */
    bool log_x, log_y;
    const char *const *categories; /* names of x = 0, 1, 2 ...; NULL: x is a number */
    size_t n_categories;
    double x0, x1, y0, y1; /* fixed limits, for comparable charts; x0 == x1 or y0 == y1: from the data */
    double width, height;  /* 0: 360 x 240 */
    bool no_names;         /* reserve no room for labels beside lines */
    bool exact_height;     /* a legend takes its room from the chart instead of adding to its height */
} chart;

/* Names are written beside their lines and points; if a name is too long, all names are in a legend below the chart.
 * NULL if no series has a point. The caller frees. A logarithmic axis omits values that are not positive. */
drawing *chart_draw(const chart *c, const series *s, size_t n);

/* ---- axis.c ---- */

/* Maps data to coordinates: lo to `from`, hi to `to`. */
typedef struct {
    double lo, hi, from, to;
    bool logarithmic;
} scale;
double scale_at(const scale *s, double v); /* NaN if v is outside the scale's domain */
typedef struct {
    double value;
    char text[24];
} tick;
/* Writes about `about` (at most `cap`) round ticks within the scale; returns their number. */
size_t scale_ticks(const scale *s, size_t about, tick *out, size_t cap);
#endif
