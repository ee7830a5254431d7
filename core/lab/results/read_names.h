/* read_names.h - runs by names that leave the experiment out, and what is said of names that are wrong. For
 * read_curves.c. */
#ifndef ABLATE_READ_NAMES_H
#define ABLATE_READ_NAMES_H
#include "lab/results/internal.h"

/* The one experiment that has runs of this row, own or recorded. -1 and a message that says which experiments or rows
 * there are. */
int names_experiment_of(reader *r, const char *row, arena *a, const char **experiment, err *e);
bool names_is_experiment(reader *r, const char *name);
/* Fails with what is wrong in EXPERIMENT/ROW@SEED and the nearest name. */
int names_not_found(reader *r, const char *text, const char *experiment, const char *row, err *e);
#endif
