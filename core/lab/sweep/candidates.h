/* candidates.h - internal to this folder: the values that a row's search tries. */
#ifndef ABLATE_CANDIDATES_H
#define ABLATE_CANDIDATES_H
#include "lab/config/spec.h"

enum { MOST_KEYS = 2, MOST_TRIALS = 64, MOST_EXTENSIONS = 4 };

typedef struct {
    double value[MOST_KEYS];  /* one value for each key that the row searches */
    int64_t index[MOST_KEYS]; /* each value's index in its search's range; below 0 or past the last: beyond the range */
    size_t number;            /* counted from 1 */
    bool alive;
    size_t asked, scored; /* asked: last rung, from 1, with written trials; scored: last rung with read scores */
    double score;         /* PPL of the last rung, the geometric mean over seeds; NaN: diverged or failed */
} candidate;

typedef struct {
    const spec_row *row;
    candidate at[MOST_TRIALS + MOST_EXTENSIONS * MOST_KEYS];
    size_t n, rungs, seeds; /* seeds: number of seeds per trial */
    bool stuck;             /* while counting: a trial is missing, so the next rung is unknown */
} row_search;

/* Fills r->at with the candidates of r->row's tunes. */
int candidates_list(row_search *r, err *e);
/* Returns the candidate that won the last rung; NULL: none. */
candidate *candidates_best(row_search *r);
/* Is the candidate's value of a tune the first or the last of those tried? */
bool candidate_at_edge(const row_search *r, const candidate *c, size_t tune);
/* Adds a value beyond each edge at which the best candidate lies, if the tune has `extend`. Were any added? */
bool candidates_extend(row_search *r);
/* returns JSON such as {"lr":0.001} */
const char *candidate_settings(const row_search *r, const candidate *c, arena *a);
/* Finds the candidate with these settings; adds it to r if it lies beyond a range with `extend`. NULL: none. */
const candidate *candidate_called(row_search *r, int64_t number, const char *settings, arena *a);
#endif
