/* chrf.h - corpus chrF (Popović 2015) and chrF++ (Popović 2017), equal to sacreBLEU (Post 2018).
 *
 * The F score of matching n-grams of characters, without whitespace, and for chrF++ also of words. Precision and recall
 * are averaged over the orders that both sides have. Of several references, a sentence is compared with the one that
 * gives it the best score. All text is UTF-8 and belongs to the caller. */
#ifndef ABLATE_METRIC_CHRF_H
#define ABLATE_METRIC_CHRF_H
#include "base/base.h"

enum {
    CHRF_MOST_CHARS = 16,
    CHRF_MOST_WORDS = 8,
    CHRF_MOST_ORDERS = CHRF_MOST_CHARS + CHRF_MOST_WORDS,
    CHRF_MOST_STATS = 3 * CHRF_MOST_ORDERS
};

typedef struct {
    int64_t char_order; /* characters in the longest n-gram, 1 .. CHRF_MOST_CHARS */
    int64_t word_order; /* words in the longest n-gram, 0 .. CHRF_MOST_WORDS; 2 is chrF++ */
    int64_t beta;       /* recall counts beta times as much as precision */
    bool lowercase;
    bool whitespace; /* whitespace counts as characters */
    bool eps; /* the score is the mean of all orders' F scores, 1e-16 for an empty order (chrF++.py, Moses, NLTK) */
} chrf_options;
#define CHRF_DEFAULTS                                                                                                  \
    {                                                                                                                  \
        .char_order = 6, .word_order = 0, .beta = 2                                                                    \
    } /* sacreBLEU's */

typedef struct {
    double score;  /* 0 to 100 */
    char name[24]; /* "chrF2++" */
    char signature[160];
} chrf_score;

/* Length of a row of statistics: for each order, of characters and then of words, the number of n-grams in the
 * hypothesis, in the reference, and matching. */
size_t chrf_width(const chrf_options *o);
/* chrF of hyp[0..n) against refs[0..n_refs)[0..n), in parts: add the rows of some sentences to `sum` (initially zeros),
 * then compute the score from it. `stats`, if not NULL, receives a row per sentence. Errors: text that is not UTF-8
 * (with its line, from 1), no references. */
int chrf_add(const chrf_options *o, const char *const *hyp, const char *const *const *refs, size_t n_refs, size_t n,
             double *sum, double *stats, err *e);
void chrf_result(const chrf_options *o, const double *sum, size_t n_refs, chrf_score *out);
double chrf_from_stats(const double *sum, const chrf_options *o);
#endif
