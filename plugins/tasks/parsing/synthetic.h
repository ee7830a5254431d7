/* synthetic.h - a treebank made by a grammar: called synthetic wherever it shows.
 *
 * An English of some hundred words. Nothing in the order of words says where a phrase attaches; the words do: a relative clause after "the dogs near the
 * house" belongs to the noun that its verb agrees with; "with a hammer" belongs to the verb and "with a tail" to the noun before it; "in the garden" to the
 * verb where that is one of moving, else to the noun. Some words are nouns here and verbs there.
 */
#ifndef PARSING_SYNTHETIC_H
#define PARSING_SYNTHETIC_H
#include "tree.h"

/* Appends n different trees, one a line, "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))"; the same seed gives the same trees, and fewer of them the first
 * ones. 0, or -1: the grammar cannot give so many. */
int synthetic_trees(uint64_t seed, int64_t n, buffer *out);
#endif
