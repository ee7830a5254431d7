/* read_names.h - finds runs by names without an experiment, and explains wrong names. For read_curves.c. */
#ifndef ABLATE_READ_NAMES_H
#define ABLATE_READ_NAMES_H
#include "lab/results/internal.h"

/* Finds the only experiment with runs of this row, own or recorded. -1 and a message that lists experiments or rows. */
int names_experiment_of(reader *r, const char *row, arena *a, const char **experiment, err *e);
bool names_is_experiment(reader *r, const char *name);
/* Fails with the fault in EXPERIMENT/ROW@SEED and the nearest name. */
int names_not_found(reader *r, const char *text, const char *experiment, const char *row, err *e);
#endif
