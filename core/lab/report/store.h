/* store.h - keeps the comparisons in the database (view `paired`) consistent with its results. */
#ifndef ABLATE_REPORT_STORE_H
#define ABLATE_REPORT_STORE_H
#include "lab/results/db.h"

/* Computes and stores the comparisons of every experiment whose results have changed. Cheap if none has. If the
 * database cannot be written, stores nothing, logs a line and returns 0. -1 only if it cannot be read. */
int store_comparisons(const db_options *o, err *e);
#endif
