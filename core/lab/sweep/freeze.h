/* freeze.h - the rows of a spec as runs in the database. */
#ifndef ABLATE_FREEZE_H
#define ABLATE_FREEZE_H
#include "lab/config/spec.h"
#include "lab/results/db.h"

/* Writes the experiment, its rows and missing runs, one per seed; argv: the command, stored with it. *frozen [*n]: the
 * runs, which the caller frees. 0, or -1 and sets *e. */
int run_freeze(db *d, const spec *s, int argc, char **argv, db_frozen **frozen, size_t *n, err *e);
#endif
