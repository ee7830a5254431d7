/* sample.h - samples text from a decoder-only model, token by token. */
#ifndef ABLATE_SAMPLE_H
#define ABLATE_SAMPLE_H
#include "network/model/model.h"
#include "text/tokens/vocab.h"

typedef struct {
    int64_t tokens;        /* maximum number of tokens to sample */
    double temperature;    /* divides the logits; 0: always the most likely token */
    int64_t top_k;         /* samples from the k most likely tokens; 0: from all tokens */
    uint64_t seed, stream; /* the text is a function of these two */
    /* tokens per window if the model was trained on windows of a text, in which VOCAB_EOS ends a line; 0: trained on
     * lines that end with VOCAB_EOS */
    int64_t window;
    bool endless;                                          /* trained without VOCAB_EOS: never sample VOCAB_EOS */
    bool one_line;                                         /* stop at VOCAB_EOS even with a window */
    int (*ended)(void *self, const id_list *text, err *e); /* if not NULL: called after each VOCAB_EOS */
    void *self;
} sample_options;

/* Appends up to o->tokens ids to `text`, which begins with the prompt (0 or more tokens). When a window is full, the
 * model restarts from its last half. Without a window, or with one_line, VOCAB_EOS ends sampling and is not appended.
 * Never samples VOCAB_PAD, VOCAB_UNK and VOCAB_BOS. *seconds (may be NULL): time spent. Returns 0, or -1 and e. */
int sample_text(model *m, const sample_options *o, id_list *text, double *seconds, err *e);
#endif
