/* chart.h - charts with two axes: lines with bands, points with error bars, names beside them. */
#ifndef ABLATE_DRAW_CHART_H
#define ABLATE_DRAW_CHART_H
#include "draw/drawing.h"

/* n points; x ascending where a line joins them. A NaN is a gap. low, high: an interval around each y, or NULL. */
typedef struct {
    const char *name; /* written beside the line or the point; NULL: none */
    const char *key;  /* draw_open's; NULL: none */
    const char *hint; /* shown where a pointer rests; NULL: name */
    int color, dash, marker;
    bool line, points, band; /* band: the interval as an area along the line, else as error bars */
    bool faint;              /* context: thin and pale */
    size_t n;
    const double *x, *y, *low, *high;
} series;

typedef struct {
    const char *title, *x_label, *y_label;
    const char *description; /* the text alternative; NULL: title */
    bool log_x, log_y;
    const char *const *categories; /* names of x = 0, 1, 2 ...; NULL: x is a number */
    size_t n_categories;
    double x0, x1, y0, y1; /* limits, so that charts can be compared; x0 == x1, y0 == y1: from the data */
    double width, height;  /* 0: 360 x 240 */
    bool no_names;         /* leaves no room for names beside lines */
} chart;

/* NULL where no series has a point. The caller frees. A logarithmic axis leaves out values that are not positive. */
drawing *chart_draw(const chart *c, const series *s, size_t n);

/* Limits that hold all finite points and intervals; false: there are none. */
bool chart_limits(const series *s, size_t n, bool log_x, bool log_y, double *x0, double *x1, double *y0, double *y1);

/* ---- axis.c ---- */

/* From data to places: lo is drawn at `from`, hi at `to`. */
typedef struct {
    double lo, hi, from, to;
    bool logarithmic;
} scale;
double scale_at(const scale *s, double v); /* NaN for what the scale has no place for */
typedef struct {
    double value;
    char text[24];
} tick;
/* At most `cap` round ticks, about `about` of them, within the scale; returns how many. */
size_t scale_ticks(const scale *s, size_t about, tick *out, size_t cap);
#endif
