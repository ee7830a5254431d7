/* align.h - word alignments from a translation model's cross-attention. */
#ifndef ABLATE_STUDY_ALIGN_H
#define ABLATE_STUDY_ALIGN_H
#include "network/model/model.h"
#include "text/data/dataset.h"

typedef struct {
    int64_t layer; /* decoder layer, from 1; 0: the default */
    bool next;     /* uses the step that reads a token, not the one that predicts it */
} align_settings;
/* Writes the word alignment of pair i, "0-0 2-1", to lines[i] (empty before, freed by the caller). */
int align_pairs(const align_settings *o, model *m, const vocab *src, const vocab *tgt, const pairs *p, str *lines,
                err *e);
#endif
