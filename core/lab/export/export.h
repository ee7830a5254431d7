/* export.h - exports an experiment to the file formats of other programs. */
#ifndef ABLATE_EXPORT_EXPORT_H
#define ABLATE_EXPORT_EXPORT_H
#include "lab/results/read.h"

enum export_format { EXPORT_PARQUET, EXPORT_CSV, EXPORT_TENSORBOARD, EXPORT_WANDB };

/* Writes experiment `name` (NULL: the latest) below `folder`, creating it:
 *   parquet, csv   runs (a row per run: settings and results as columns), results, curves
 *   tensorboard    ROW@SEED/events.out.tfevents.... per run
 *   wandb          offline-run-DATE_TIME-ID/run-ID.wandb per run, for `wandb sync`
 * W&B ids are hashes of experiment, row and seed, so a second export has the same ids. *files: number of files
 * written. */
int export_write(reader *r, const char *name, enum export_format format, const char *folder, size_t *files, err *e);
#endif
