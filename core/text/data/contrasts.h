/* contrasts.h - contrastive pairs: a source with a right and a wrong target, between which a translation model chooses
 * by their probabilities (Sennrich 2017, "How Grammatical is Character-level Neural Machine Translation?"). */
#ifndef ABLATE_CONTRASTS_H
#define ABLATE_CONTRASTS_H
#include "base/base.h"

typedef struct {
    int64_t n;
    const char **source, **right, **wrong; /* [n], in text */
    int64_t *group;                        /* [n]: number of its group's name, -1 for none */
    char **name;                           /* [n_groups], in the order of their first lines */
    int64_t n_groups;
    str text;
    char **lines;
} contrasts;

/* Reads lines SOURCE, tab, RIGHT, tab, WRONG, and perhaps a tab and GROUP (at most 32 letters, digits, + - . and _).
 * -1 and e, with file and line: a line of another form, targets that are equal, an empty file. */
int contrasts_read(const char *path, contrasts *out, err *e);
void contrasts_free(contrasts *x);
#endif
