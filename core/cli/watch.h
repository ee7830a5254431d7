/* watch.h - shared by `ablate watch` and `ablate log`. */
#ifndef ABLATE_CLI_WATCH_H
#define ABLATE_CLI_WATCH_H
#include "cli/options.h"
#include "lab/report/watch.h"

/* Prints the log of the run that the command line names, its last `lines` lines or all of it (0), then, unless `once`,
 * lines added until the run ends. Returns the exit code. (log.c) */
int log_print(const invocation *c, int64_t lines, bool once);
#endif
