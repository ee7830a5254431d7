/* replay.h - computes updates of a run in this process, where gdb, ab_print and --profile see them. */
#ifndef ABLATE_ARCHIVE_REPLAY_H
#define ABLATE_ARCHIVE_REPLAY_H
#include "lab/run/replay.h"
#include "lab/sweep/setup.h"

typedef struct {
    int64_t step, until; /* first and last update shown; until 0: shows only update `step` */
    bool gdb, profile;
} replay_options;

/* Fills in the job of a run; the caller calls replay_job_free. config: the run's settings. -1 and e: no such steps. */
int replay_job_of(const places *p, const replay_options *o, const char *config, replay_job *j, err *e);
void replay_job_free(replay_job *j);
/* Repeats steps of a run and prints the curve points that differ. Returns 0 if none differ, 1 if some do; -1 and e. */
int replay(const replay_options *o, const char *run, const places *p, bool quiet, err *e);
#endif
