/* anaphora.h - measures how much of each head's weight goes from pronouns to their antecedents in one sentence: Vaswani
 * et al. 2017, figure 4, show two heads "apparently involved in anaphora resolution". */
#ifndef ABLATE_STUDY_ANAPHORA_H
#define ABLATE_STUDY_ANAPHORA_H
#include "lab/sweep/setup.h"
#include "network/train/influence.h"
#include "text/data/coreference.h"
#include "text/tokens/vocab.h"

/* One pronoun under one head. A weight goes from the pronoun's tokens (mean) to the mention's (sum); `evenly`: that
 * weight if each of the pronoun's tokens weighted all visible tokens equally. */
typedef struct {
    double antecedent, evenly;
    double other, other_evenly; /* the nearest earlier mention of another entity; NaN: there is none */
} anaphora_shares;

typedef struct {
    const char *part; /* "encoder", "decoder" */
    int64_t layer;    /* from 1, like head */
    size_t head;
    weights_source from;      /* meaning of the head's weights */
    anaphora_shares *pronoun; /* [n] of the measured pronouns; owned by anaphora_figures */
} anaphora_head;

typedef struct {
    size_t n;
    int *half; /* [n]: 0 even, 1 odd sentences */
    anaphora_head *head;
    size_t n_heads, cap;
    size_t left;    /* pronouns left out: the sentence is too long for the model, or its tokens cross words */
    size_t unknown; /* measured pronouns that the vocabulary lacks */
} anaphora_figures;

/* Applies the model file at `path` to the sentences with pronouns: the encoder's self-attention, or a decoder-only
 * model's. -1 and e: its task reads no plain sentences; no sentence is left; no attention output depends on a key. */
int anaphora_measure(const char *path, const places *p, const coreference *x, anaphora_figures *out, err *e);
void anaphora_free(anaphora_figures *f);

typedef struct {
    size_t from, to; /* rows [from, to) */
} row_span;
/* Returns the mean over the queries of the sum of weights over the keys. at: [rows][stride]. */
double anaphora_weight(const float *at, size_t stride, row_span queries, row_span keys);
/* Returns what anaphora_weight gives if each query weights n keys equally, or, with `causal`, the keys up to itself. */
double anaphora_evenly(row_span queries, row_span keys, bool causal, size_t n);
/* Finds the rows of each blank-separated word of a line. ids [n_ids]: the line's tokens; first: the row of its first
 * token. rows [n_words]. False: the line has another number of words, or tokens that cross words. */
bool anaphora_rows(const vocab *v, const char *line, const int32_t *ids, int64_t n_ids, size_t first, row_span *rows,
                   size_t n_words);
#endif
