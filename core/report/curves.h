/* curves.h - learning curves as an inline SVG drawing. */
#ifndef ABLATE_REPORT_CURVES_H
#define ABLATE_REPORT_CURVES_H
#include "results/read.h"

typedef struct {
    const char *label;
    size_t color; /* lines of one color belong together (seeds of a row) */
    size_t n;
    const read_point *points;
} curve_line;

/* Steps to the right, values upwards, both axes with round ticks; the value axis is logarithmic where the
 * values span more than a factor of 20. Gaps where values are NaN. Nothing is drawn for no finite values. */
void curves_svg(const char *title, const curve_line *lines, size_t n, str *out);
const char *curve_color(size_t i); /* "#rrggbb" */
#endif
