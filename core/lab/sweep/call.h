/* call.h - a sweep's options and its caller. */
#ifndef ABLATE_CALL_H
#define ABLATE_CALL_H
#include "lab/sweep/setup.h"

enum { RERUN_NONE = -1, RERUN_FAILED, RERUN_CHANGED, RERUN_ALL };

typedef struct { /* the options of `ablate run` */
    text_list set, only;
    const char *seeds, *device;
    const char *at_a_time; /* workers at a time: a number, or "auto"; NULL: one per device */
    bool no_check, ignore_room, sandbox, no_mps;
    const char *notify;  /* a shell command */
    char own_device[64]; /* the device that the INI sets */
    int64_t workers, threads, step_limit;
    bool dry_run, profile;
    int rerun, progress;  /* rerun: RERUN_NONE ...; progress: enum progress_mode */
    const char *launcher; /* "local", "slurm" or a shell command */
    const char *slurm_args;
    int64_t per_task;
    bool detach, fail_fast;
} sweep_options;

typedef struct { /* how the user called the command */
    const char *ini;
    const places *p;
    int argc; /* the command as typed: stored with the experiment, and printed as the command that resumes it */
    char **argv;
    int verbosity; /* -1: quiet, 0, 1: verbose */
} sweep_call;
#endif
