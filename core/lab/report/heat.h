/* heat.h - a table of numbers as a heat map: a fuller cell is a larger number. */
#ifndef ABLATE_REPORT_HEAT_H
#define ABLATE_REPORT_HEAT_H
#include "lab/draw/drawing.h"

typedef struct {
    const char *title, *description;
    const char *row_key, *column_key; /* names of the two settings */
    const char *const *rows, *const *columns;
    size_t n_rows, n_columns;
    const double *value, *sd; /* [rows][columns]; NaN: none */
    int decimals;
    size_t marked; /* index of the cell that gets a frame; SIZE_MAX: none */
} heat;
drawing *heat_draw(const heat *h, double width);
#endif
