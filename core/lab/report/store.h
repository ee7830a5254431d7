/* store.h - keeps the comparisons in the database (view `paired`) consistent with its results. */
#ifndef ABLATE_REPORT_STORE_H
#define ABLATE_REPORT_STORE_H
#include "lab/results/db.h"

/* Computes and stores the comparisons of an experiment (NULL: every one; "": the one frozen last) if its results have
 * changed. If the database cannot be written, logs a line and returns 0; -1: it cannot be read. */
int store_comparisons(const db_options *o, const char *experiment, err *e);
#endif
