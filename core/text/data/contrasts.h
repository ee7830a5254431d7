/* contrasts.h - contrastive pairs: a source with a right and a wrong target. A translation model chooses the more
 * likely target (Sennrich 2017, "How Grammatical is Character-level Neural Machine Translation?"). */
#ifndef ABLATE_CONTRASTS_H
#define ABLATE_CONTRASTS_H
#include "base/base.h"

typedef struct {
    int64_t n;
    const char **source, **right, **wrong; /* [n], in text */
    int64_t *group;                        /* [n]: index into name; -1: no group */
    char **name;                           /* [n_groups], in the order of their first lines */
    int64_t n_groups;
    str text;
    char **lines;
} contrasts;

/* Reads lines SOURCE, tab, RIGHT, tab, WRONG and optionally a tab and GROUP (at most 32 letters, digits, + - . and _).
 * Returns -1 and e, with file and line, for another form, equal targets or an empty file. */
int contrasts_read(const char *path, contrasts *out, err *e);
void contrasts_free(contrasts *x);
#endif
