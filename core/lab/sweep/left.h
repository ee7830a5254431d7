/* left.h - counts a sweep's runs and trials left to train, by its database, which it only reads. */
#ifndef ABLATE_LEFT_H
#define ABLATE_LEFT_H
#include "lab/sweep/sweep.h"

/* An experiment's runs in the database; none without a database or the experiment. The caller calls done_close. */
typedef struct done_runs done_runs;
done_runs *done_open(const db_options *where, const char *experiment, int rerun);
void done_close(done_runs *d);
/* Is the run with these settings and this seed over, so that it is not trained again? */
bool run_is_done(const done_runs *d, const char *hash, int64_t seed);
/* runs [s->n_rows]: runs still to train; all, if the row's search is not done. */
void runs_count_left(const spec *s, const done_runs *d, size_t *runs);

/* left [of->n_rows], {0} before: trials still to train. If none is left, `out` gets the values found. t: only db and
 * plugins are read. 0, or -1 and e. (search.c) */
int search_count_left(const spec *of, const trainer *t, const done_runs *done, prepared *out, search_left *left,
                      err *e);
#endif
