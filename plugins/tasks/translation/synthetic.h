/* synthetic.h - a language pair made by a grammar: called synthetic wherever it shows.
 *
 * The source is an English of a hundred words; the target a German-like language: articles and adjectives
 * agree with gender, number and case, two adjectives stand the other way round, participles and the verbs of
 * subordinate clauses stand last, a leading adverb puts the verb before the subject, a pronoun takes the
 * gender of the noun far before it, and some words have two meanings that the context tells apart.
 */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H
#include <stdint.h>

/* n different pairs into src[i], tgt[i] (each line in one malloc of its own; the caller frees). No source
 * line occurs twice. The same seed gives the same pairs. 0, or -1 when the grammar cannot give n of them. */
int synthetic_make(uint64_t seed, int64_t n, char **src, char **tgt);
#endif
