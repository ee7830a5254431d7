/* watch.h - one frame of `ablate watch` as text, so that it can be tested. */
#ifndef ABLATE_WATCH_PAGE_H
#define ABLATE_WATCH_PAGE_H
#include "lab/results/read.h"

typedef struct {
    int columns, lines; /* the terminal's size */
    bool color;
    size_t first; /* the first row to show */
} watch_view;

/* Appends the experiment's state as at most v->lines lines, at most v->columns wide. `r` provides the curves. *wrong:
 * number of runs that failed, diverged, or are in trouble by their dev curve (lab/launch/care.h). */
int watch_frame(reader *r, const read_experiment *x, const watch_view *v, double now, str *out, size_t *wrong, err *e);

/* A live view between frames: the connection, and the experiment, read again after changes. (watch_source.c) */
typedef struct watch_source watch_source;
/* name NULL: the experiment frozen last. Returns NULL and a message without a database. */
watch_source *watch_source_open(const db_options *o, const char *name, err *e);
void watch_source_close(watch_source *w); /* accepts NULL */
/* Draws a frame of the database as it is now. */
int watch_source_draw(watch_source *w, const watch_view *v, double now, str *out, size_t *wrong, err *e);
#endif
