/* sample.h - text drawn from a decoder-only model, token by token. */
#ifndef ABLATE_SAMPLE_H
#define ABLATE_SAMPLE_H
#include "model/model.h"
#include "text/vocab.h"

typedef struct {
    int64_t tokens;     /* to draw, at most */
    double temperature; /* logits are divided by it; 0: always the likeliest */
    int64_t top_k;      /* only the k likeliest are drawn from; 0: all */
    uint64_t seed;
    int64_t window;     /* the model was trained on windows of so many tokens of a text, in which VOCAB_EOS is a line's end; 0: on lines, which
                           end with it */
} sample_options;

/* Appends up to o->tokens ids to `text`, which holds the prompt (0 tokens or more). Where the model has seen a whole window it begins
 * anew from the last half of it. Without a window it ends at VOCAB_EOS, which is not appended. VOCAB_PAD, VOCAB_UNK and VOCAB_BOS are never
 * drawn. *seconds (may be NULL): spent. 0, or -1 and e. */
int sample_text(model *m, const sample_options *o, id_list *text, double *seconds, err *e);
#endif
