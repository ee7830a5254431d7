/* train.h - training with symbols, shared by vocabularies.c and cache.c. */
#ifndef ABLATE_TEXT_TRAIN_H
#define ABLATE_TEXT_TRAIN_H
#include "text/tokens/vocab.h"

/* vocab_train with the symbols of vocab_with_symbols. */
vocab *vocab_train_with(vocab_kind kind, int64_t size, bool lowercase, const char *const *symbols, int64_t n_symbols,
                        const char *const *lines, int64_t n, err *e);
#endif
