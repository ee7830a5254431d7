/* export.h - exports an experiment to the file formats of other programs. */
#ifndef ABLATE_EXPORT_EXPORT_H
#define ABLATE_EXPORT_EXPORT_H
#include "lab/results/read.h"

enum export_format { EXPORT_CSV, EXPORT_TENSORBOARD };

/* Writes experiment `name` (NULL: the latest) below `folder`, creating it:
 *   csv            runs (a row per run: settings and results as columns), results, curves
 *   tensorboard    ROW@SEED/events.out.tfevents.... per run
 * *files: number of files written. */
int export_write(reader *r, const char *name, enum export_format format, const char *folder, size_t *files, err *e);
#endif
