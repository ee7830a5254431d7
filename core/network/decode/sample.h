/* sample.h - samples text from a decoder-only model, token by token. */
#ifndef ABLATE_SAMPLE_H
#define ABLATE_SAMPLE_H
#include "network/model/model.h"
#include "text/tokens/vocab.h"

typedef struct {
    int64_t tokens;        /* most tokens to sample */
    double temperature;    /* divides the logits; 0: always the most likely token */
    int64_t top_k;         /* sample from the k most likely tokens; 0: from all */
    uint64_t seed, stream; /* one text per pair of these */
    /* the model was trained on windows of this many tokens of a text, in which VOCAB_EOS is a line end; 0: on lines
     * that end with VOCAB_EOS */
    int64_t window;
    bool endless;                                          /* was trained without ends: VOCAB_EOS is never sampled */
    bool one_line;                                         /* ends at the first VOCAB_EOS in a window, too */
    int (*ended)(void *self, const id_list *text, err *e); /* if not NULL: called after each VOCAB_EOS */
    void *self;
} sample_options;

/* Appends up to o->tokens ids to `text`, which has the prompt (0 or more tokens). When a window is full, the model
 * restarts from its last half. Without a window, or with one_line, sampling ends at VOCAB_EOS, which is not appended.
 * VOCAB_PAD, VOCAB_UNK and VOCAB_BOS are never sampled. *seconds (may be NULL): time spent. Returns 0, or -1 and e. */
int sample_text(model *m, const sample_options *o, id_list *text, double *seconds, err *e);
#endif
