/* left.h - what of a sweep is still to do: its database is read, and nothing is written or trained. */
#ifndef ABLATE_LEFT_H
#define ABLATE_LEFT_H
#include "lab/sweep/sweep.h"

/* The runs of an experiment in the database; none if there is no database or no such experiment. done_close. */
typedef struct done_runs done_runs;
done_runs *done_open(const db_options *where, const char *experiment, int rerun);
void done_close(done_runs *d);
/* Will a run with these settings and this seed not be trained again? */
bool run_is_done(const done_runs *d, const char *hash, int64_t seed);
/* runs [s->n_rows]: those still to train; all of a row with a search to come. */
void runs_count_left(const spec *s, const done_runs *d, size_t *runs);

/* left [of->n_rows]: the trials still to train, from {0}. If none is left, `out` gets the values found. t: db and
 * plugins. 0, or -1 and e. (search.c) */
int search_count_left(const spec *of, const trainer *t, const done_runs *done, prepared *out, search_left *left,
                      err *e);
#endif
