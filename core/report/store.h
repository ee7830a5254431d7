/* store.h - keeps the comparisons in the database (view `paired`) in step with its results. */
#ifndef ABLATE_REPORT_STORE_H
#define ABLATE_REPORT_STORE_H
#include "results/db.h"

/* Computes and stores the comparisons of every experiment whose results have changed since they were stored. Cheap when none has. Where the database
 * cannot be written, nothing is stored and a line in the log says so: 0. -1 only where it cannot be read. */
int store_comparisons(const db_options *o, err *e);
#endif
