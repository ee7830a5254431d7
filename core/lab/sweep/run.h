/* run.h - runs a sweep, from its INI to its table. */
#ifndef ABLATE_RUN_H
#define ABLATE_RUN_H
#include "lab/results/read.h"
#include "lab/sweep/call.h"

/* Fails if the device does not exist or `at_a_time` is no number. Call it first. */
int sweep_check(sweep_options *o, err *e);
/* Expands the INI, trains what is missing and prints the table; the same call again resumes. With dry_run prints the
 * rows and what they would cost. Returns the exit code; *e has the message of a failure, if it is not printed yet. */
int sweep_run(const sweep_call *c, sweep_options *o, err *e);
/* In the process that sweep_run starts to count the costs of rows (estimate.h): prints them. Returns the exit code. */
int sweep_estimate_print(const sweep_call *c, sweep_options *o);
/* start_from = RUN: the file of its model, or with start_step > 0 its state of that step, for the caller to free. NULL
 * and e: there is none; which states there are. (origin.c) */
char *origin_file(reader *r, const char *run, int64_t start_step, err *e);
#endif
