/* linear.h - trees as sequences of words, and back; malformed sequences are repaired.
 *
 *   labels   S NP DT NN /NP VP VBZ /VP . /S               tags stand for the words (the paper's code)
 *   xx       S NP XX XX /NP VP XX /VP XX /S               Vinyals et al. 2015
 *   words    (S (NP the dog )NP (VP barks )VP . )S
 *   in_order the (NP dog )NP (S barks (VP )VP . )S        a bracket opens after its first child (Liu and Zhang 2017)
 *
 * TOP is removed in sequences and restored in trees. A tag that looks like a constituent's label or a closing bracket
 * gets a backslash: \X. In forms `words` and `in_order`, ( and ) are used for brackets only: trees have -LRB- and
 * -RRB-.
 */
#ifndef PARSING_LINEAR_H
#define PARSING_LINEAR_H
#include "tree.h"

typedef enum { LABELS, XX, WORDS, IN_ORDER } form;
/* 1: sequences have the words themselves, and brackets are ( and ) with a label. */
int form_has_words(form f);

typedef struct { /* a set of texts, each in its own memory; {0} is empty */
    char **at;
    size_t n, cap;
} labels;
int64_t labels_find(const labels *l, slice text); /* the label's index, or -1 */
void labels_add(labels *l, slice text);           /* once */
void labels_free(labels *l);

/* Appends the sequence of a tree whose outer bracket is TOP; `known`: all constituents' labels. */
void linear_write(form f, const tree *t, const labels *known, buffer *out);

typedef struct {
    int64_t n;         /* words of the sentence */
    const slice *word; /* [n] */
    const slice *tag;  /* tags [n]; NULL: the output's own tags, XX if it has none */
} sentence;
/* Reads an output for a sentence into t: TOP over exactly its words, for any output. Returns 1 if it was well-formed,
 * 0 if repaired: open brackets are closed, a closing bracket closes the innermost one whatever its label, surplus
 * words are dropped, missing words go to the innermost open bracket, empty brackets are removed. Texts of t belong
 * to line, sentence and known. */
int linear_read(form f, const char *line, const sentence *s, const labels *known, tree *t);
#endif
