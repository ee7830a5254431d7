/* replay.h - shared by `ablate replay` (a run of the database) and `ablate debug` (a row of an INI): computes updates
 * of a run in this process, where gdb, ab_print and --profile see them. */
#ifndef ABLATE_CLI_REPLAY_H
#define ABLATE_CLI_REPLAY_H
#include "cli/options.h"
#include "lab/run/replay.h"

typedef struct {
    int64_t step, until; /* first and last update shown; until 0: only step */
    bool gdb, profile;
} replay_options;
/* clang-format off */
#define REPLAY_OPTIONS(options, field) \
    {"--step", "N", "the update to show, from 1", OPTION_COUNT, offsetof(options, field.step), 1, 1e9, true}, \
    {"--until", "N", "the last update to show [--step]", OPTION_COUNT, offsetof(options, field.until), 1, 1e9}, \
    {"--gdb", NULL, "run under gdb, if it is installed", OPTION_FLAG, offsetof(options, field.gdb)}, \
    {"--profile", NULL, "print the time per operation on standard error", OPTION_FLAG, \
     offsetof(options, field.profile)}, \
    {"--plugin-path", "FOLDERS", "additional plugin folders, separated by colons", OPTION_PLUGINS}
/* clang-format on */

/* Checks the options; with --gdb becomes gdb, which starts this command without it. Returns 0, or the exit code after a
 * message. */
int replay_begin(const invocation *c, replay_options *o);
/* Fills in the fields that both commands share; the caller frees j->job.cache_dir. 0, or -1 and e: steps beyond the
 * run's. */
int replay_job_of(const invocation *c, const replay_options *o, const char *config, replay_job *j, err *e);
#endif
