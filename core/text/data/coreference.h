/* coreference.h - pronouns and their antecedents within a sentence, from a CoNLL-U file with coreference.
 *
 * CoNLL-U: ten columns between tabs, a blank line after each sentence. Used are FORM (2), UPOS (4), FEATS (6), HEAD (7)
 * and MISC (10), whose Entity=... has CorefUD's brackets: "(ID-..." opens a mention of entity ID, "ID)" closes the
 * innermost open one, "(ID-...)" is a mention of one word; several may follow each other. Multiword tokens (3-4) and
 * empty nodes (3.1) are not words. A mention's head is its first word whose HEAD lies outside it. Parts of
 * discontinuous mentions (ID[1/2]) are left out. */
#ifndef ABLATE_COREFERENCE_H
#define ABLATE_COREFERENCE_H
#include "base/base.h"

typedef struct {
    size_t from, to; /* words [from, to) of the sentence; both 0: no words */
} word_span;

/* A personal or possessive pronoun whose entity has an earlier mention in the sentence: one that ends before the
 * pronoun and whose head is no pronoun. The pronoun must head a mention itself. */
typedef struct {
    size_t sentence, pronoun; /* the pronoun's sentence and word */
    word_span antecedent;     /* the entity's nearest earlier mention */
    word_span other;          /* the nearest earlier mention that overlaps no mention of the pronoun's entity */
} anaphor;

typedef struct {
    size_t n;
    const char **word; /* [n] */
} coreference_sentence;

typedef struct {
    coreference_sentence *sentence; /* [n] */
    size_t n, cap;
    size_t withheld; /* number of sentences left out because a word is empty or only underscores */
    anaphor *pair;   /* [n_pairs], by sentence, then pronoun */
    size_t n_pairs, pair_cap;
    arena memory;
} coreference;

/* Returns -1 and e, with file and line: another form, unmatched brackets, no Entity, no pronoun with an antecedent. */
int coreference_read(const char *path, coreference *out, err *e);
void coreference_free(coreference *x);
#endif
