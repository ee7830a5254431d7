/* attention.h - draws the weights of a model's heads in one sentence, as a page or a figure. */
#ifndef ABLATE_STUDY_ATTENTION_H
#define ABLATE_STUDY_ATTENTION_H
#include "base/base.h"

typedef struct {
    const char *run, *text, *target, *out;
    const char *word;            /* the token that a figure shows */
    int part;                    /* a figure's part: 0 encoder, 1 decoder, 2 source; -1: not given */
    int64_t layer, head, figure; /* -1: all, or the default; layers and heads count from 1 */
} attention_options;
/* Writes o->out for the model file at `path`, and on standard error what its weights mean. -1 and e. */
int attention_show(const attention_options *o, const char *path, err *e);
#endif
