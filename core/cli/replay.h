/* replay.h - shared by both forms of `ablate replay`, for a run of the database and for a row of an INI: computes
 * updates of a run in this process, where gdb, ab_print and --profile see them. */
#ifndef ABLATE_CLI_REPLAY_H
#define ABLATE_CLI_REPLAY_H
#include "cli/options.h"
#include "lab/run/replay.h"

typedef struct {
    int64_t step, until; /* first and last update shown; until 0: only step */
    bool gdb, profile;
} replay_options;
typedef struct {
    replay_options what;
    text_list set; /* this and seed: only for an INI */
    int64_t seed;
} replay_call;

/* Checks the options; with --gdb becomes gdb, which starts this command without it. Returns 0, or the exit code after a
 * message. */
int replay_begin(const invocation *c, replay_options *o);
/* Trains a row of the INI in the command line. Returns the exit code. (replay_ini.c) */
int replay_ini(const invocation *c, replay_call *o);
/* Fills in the fields that both forms share; the caller frees j->job.cache_dir. 0, or -1 and e: steps beyond the
 * run's. */
int replay_job_of(const invocation *c, const replay_options *o, const char *config, replay_job *j, err *e);
#endif
