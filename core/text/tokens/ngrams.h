/* ngrams.h - hashed character n-grams of a vocabulary's tokens (Bojanowski et al. 2017, sections 3.2 and 4.3). */
#ifndef ABLATE_NGRAMS_H
#define ABLATE_NGRAMS_H
#include "text/tokens/vocab.h"

enum { NGRAM_LEAST = 2, NGRAM_MOST = 4 }; /* characters */

/* Lists every n-gram of 2 to 4 characters of <token>, in order of tokens: bucket[i] < buckets is an n-gram of token[i].
 * Special tokens have no n-grams. Returns the length of both lists, which are allocated in `a`. */
int64_t ngrams_of(const vocab *v, int64_t buckets, int32_t **bucket, int32_t **token, arena *a);
#endif
