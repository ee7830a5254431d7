/* words.h - numbers the words of a text, split as by Python's str.split(); equal words have equal numbers. */
#ifndef ABLATE_METRIC_WORDS_H
#define ABLATE_METRIC_WORDS_H
#include "text/metric/codes.h"

/* Finds the next word of c[0..n) at or after *i, which is then c[*from .. *i). Returns false if no word is left. */
bool words_next(const int32_t *c, size_t n, size_t *i, size_t *from);

typedef struct {
    codes text;      /* the known words, concatenated */
    uint32_t *ends;  /* [n] end of each word in text */
    uint32_t *slots; /* hash table of 1 + number, 0 empty; a power of two, at least twice n */
    size_t n, cap, n_slots;
} word_numbers; /* {0} has no words */

/* Returns the word's number, counted from 0 in order of first occurrence. */
int32_t word_number(word_numbers *w, const int32_t *word, size_t n);
void word_numbers_clear(word_numbers *w); /* for the next sentence; keeps the memory */
void word_numbers_free(word_numbers *w);
#endif
