/* replay.h - shared by both forms of `ablate replay`, for a run of the database and for a row of an INI. */
#ifndef ABLATE_CLI_REPLAY_H
#define ABLATE_CLI_REPLAY_H
#include "cli/options.h"
#include "lab/archive/replay.h"

typedef struct {
    replay_options what;
    text_list set; /* set and seed: only for an INI */
    int64_t seed;
} replay_call;

/* Checks the options; with --gdb becomes gdb, which starts this command without --gdb. Returns 0, or the exit code
 * after a message. */
int replay_begin(const invocation *c, replay_options *o);
/* Trains a row of the INI in the command line. Returns the exit code. (replay_ini.c) */
int replay_ini(const invocation *c, replay_call *o);
#endif
