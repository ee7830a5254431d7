/* forest.h - a forest plot: differences from base with their intervals, one line per row. */
#ifndef ABLATE_REPORT_FOREST_H
#define ABLATE_REPORT_FOREST_H
#include "lab/draw/drawing.h"

enum forest_verdict { FOREST_UNDECIDED, FOREST_BETTER, FOREST_WORSE, FOREST_EQUIVALENT, FOREST_NOT_WORSE };
typedef struct {
    const char *name;    /* the row's name; also data-row of the row's shapes (drawing.h) */
    double d, low, high; /* d NaN: only `text` is drawn; low NaN: no interval */
    const char *text;    /* text at the right: "−1.1 [−1.9, −0.3]", or why there is no difference */
    enum forest_verdict verdict;
} forest_row;

/* Narrow drawings (below 500) put the name above its line, wide ones next to it. axis: label of the scale. */
drawing *forest_draw(const forest_row *rows, size_t n, const char *axis, const char *description, double width);
/* Two experiments side by side: a line per row of either, without numbers, each side with its own scale. Rows are in
 * the order of the first side's differences, best first; rows of the second side alone follow. */
typedef struct {
    const forest_row *rows;
    size_t n;
    const char *title, *axis;
    bool more; /* more is better */
} forest_side;
drawing *forest_draw_pair(const forest_side side[2], const char *description, double width);
/* Appends the plot for three widths of a page, as HTML; page.css shows the one that fits. */
void forest_figure(const forest_row *rows, size_t n, const char *axis, const char *description, str *out);
#endif
