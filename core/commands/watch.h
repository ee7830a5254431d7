/* watch.h - one frame of `ablate watch`: text, so that it can be tested. */
#ifndef ABLATE_WATCH_H
#define ABLATE_WATCH_H
#include "results/read.h"

typedef struct {
    int columns, lines; /* of the terminal */
    bool color;
    size_t first; /* of the rows, the first that is shown */
} watch_view;

/* Appends the experiment's state as lines no wider than v->columns and no more than v->lines of them. `r` gives the curves of the rows that
 * are shown. */
int watch_frame(reader *r, const read_experiment *x, const watch_view *v, double now, str *out, err *e);
/* At most `columns` characters of UTF-8, in bytes. */
size_t watch_fitting(const char *s, size_t columns);
#endif
