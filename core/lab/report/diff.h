/* diff.h - two runs compared. */
#ifndef ABLATE_REPORT_DIFF_H
#define ABLATE_REPORT_DIFF_H
#include "lab/results/read.h"

/* Prints how two runs differ: settings, provenance, plugins, results, curves. -1 and e. */
int diff_print(const db_options *where, const char *const run[2], bool json, err *e);
#endif
