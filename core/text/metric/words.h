/* words.h - the words of a text, split where Python's str.split() splits, as numbers: equal words, equal numbers. */
#ifndef ABLATE_METRIC_WORDS_H
#define ABLATE_METRIC_WORDS_H
#include "text/metric/codes.h"

/* The next word of c[0..n) from *i on: c[*from .. *i). false: there is none. */
bool words_next(const int32_t *c, size_t n, size_t *i, size_t *from);

typedef struct {
    codes text;      /* the known words, one after another */
    uint32_t *ends;  /* [n] end of each word in text */
    uint32_t *slots; /* hash table of 1 + number, 0 empty; a power of two, at least twice n */
    size_t n, cap, n_slots;
} word_numbers; /* {0} knows none */

/* The word's number, from 0 in the order of first occurrence. */
int32_t word_number(word_numbers *w, const int32_t *word, size_t n);
void word_numbers_clear(word_numbers *w); /* for the next sentence; keeps the memory */
void word_numbers_free(word_numbers *w);
#endif
