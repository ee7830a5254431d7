/* ngrams.h - counts the n-grams of one sentence and its references. */
#ifndef ABLATE_METRIC_NGRAMS_H
#define ABLATE_METRIC_NGRAMS_H
#include "text/metric/words.h"

enum { NGRAM_ORDERS = 4 };

typedef struct {
    uint32_t first, last;             /* a word's range in `text`; an n-gram's first n-1 words, and its last word */
    uint32_t order;                   /* 0: a word, not an n-gram */
    uint32_t in_hyp, in_ref, in_this; /* counts: in the hypothesis; largest in a reference; in reference this_ref */
    uint32_t this_ref;
} ngram;

typedef struct {
    codes text;     /* the words seen so far, concatenated */
    ngram *entries; /* words and n-grams in the order of first occurrence */
    size_t n, cap;
    uint32_t *slots; /* hash table of 1 + index into entries, 0 empty; n_slots is a power of two, at least
                        twice n */
    size_t n_slots;
    uint32_t n_refs;
} ngrams; /* {0} is empty; owns everything */

void ngrams_clear(ngrams *g); /* for the next sentence; keeps the memory unless the table is far too large */
void ngrams_free(ngrams *g);
/* Counts a tokenized text's words and n-grams, as hypothesis or another reference. Returns the number of words. */
int64_t ngrams_add(ngrams *g, const codes *tokenized, bool hypothesis);
/* For each order: the hypothesis's n-grams that some reference matches (clipped counts), and all of its n-grams. */
void ngrams_match(const ngrams *g, double matches[NGRAM_ORDERS], double totals[NGRAM_ORDERS]);
#endif
