/* run.h - runs a sweep, from its INI to its table. */
#ifndef ABLATE_RUN_H
#define ABLATE_RUN_H
#include "lab/results/read.h"
#include "lab/sweep/call.h"

/* Checks device, launcher and what needs one, sandbox, and `at_a_time` (a number or "auto"). Call it first. */
int sweep_check(sweep_options *o, err *e);
/* Expands the INI, trains missing runs and prints the table; an equal call resumes. With dry_run prints the rows and
 * their costs. Returns the exit code; *e has the message of a failure, if it is not printed yet. */
int sweep_run(const sweep_call *c, sweep_options *o, err *e);
/* Prints the rows' costs, in the process that sweep_run starts to count them (estimate.h). Returns the exit code. */
int sweep_estimate_print(const sweep_call *c, sweep_options *o);
#endif
