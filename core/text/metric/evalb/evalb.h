/* evalb.h - labelled bracketing recall, precision and F1 of parse trees, equal to EVALB (Sekine and Collins).
 *
 * Trees are paired by line. A sentence is valid (0), an error (1: its test tree is unbalanced, not a tree, or has
 * other words than the gold tree) or skipped (2: no words left in the test tree). Errors and skips are excluded from
 * both totals, so broken output raises F1; strict F1 counts their gold brackets as missed. Length and depth are
 * unlimited. */
#ifndef ABLATE_METRIC_EVALB_H
#define ABLATE_METRIC_EVALB_H
#include "text/metric/tree.h"

/* ---- parameters ---- */

typedef struct {
    const char **text;
    size_t n, cap;
} evalb_list; /* in a list of pairs, pair i is text[2 i] and text[2 i + 1] */

typedef struct {
    int64_t max_error;                   /* scoring fails with more error sentences than this; -1: no limit */
    int64_t cutoff;                      /* words of the longest sentence in the second summary */
    int64_t lines_before, errors_before; /* lines and errors of earlier parts; 0 unless sentences come in parts */
    bool labeled;                        /* labels must match, too, not only spans */
    evalb_list delete_label;             /* leaves with these tags and brackets with these labels do not count */
    evalb_list delete_for_length;        /* leaves with these tags do not count towards a sentence's length */
    evalb_list quote_label;              /* tags of quotation marks, which parsers may confuse with words' tags */
    evalb_list eq_label, eq_word;        /* pairs that count as equal */
    arena memory;                        /* owns all texts above */
} evalb_params;

/* Sets the rules of EVALB's COLLINS.prm: deletes TOP, -NONE- and punctuation; ADVP equals PRT; any number of errors. */
void evalb_params_default(evalb_params *p);
/* Reads an EVALB parameter file: lines NAME VALUE, or # for a comment. Missing parameters have EVALB's defaults:
 * MAX_ERROR 10, CUTOFF_LEN 40, LABELED 1, empty lists. DEBUG has no effect. */
int evalb_params_load(evalb_params *p, const char *path, err *e);
void evalb_params_free(evalb_params *p); /* call it after a failed load, too */

/* ---- scores ---- */

enum evalb_status { EVALB_VALID, EVALB_ERROR, EVALB_SKIP };

typedef struct {
    enum evalb_status status;
    char why[120];      /* reason of an error or a skip */
    int64_t length;     /* gold words, punctuation included */
    int64_t gold_words; /* gold words that count */
    int64_t gold_all;   /* gold brackets, whatever the status */
    /* The numbers in EVALB's row; 0 for errors and skips, except unbalanced trees over the right words: for these,
     * missing brackets are added first. */
    int64_t matched, gold, test; /* brackets */
    int64_t crossing;            /* test brackets that cross a gold bracket */
    int64_t words, tags;         /* words that count; how many of these have the right tag */
} evalb_row;

typedef struct {
    int64_t sentences, errors, skipped, valid;
    double recall, precision, f1;    /* percent, from summed counts of valid sentences; 0 if the denominator is 0 */
    double strict_recall, strict_f1; /* gold brackets of errors and skips count as missed */
    double complete;                 /* percent of valid sentences in which all brackets match */
    double crossing;                 /* crossing brackets per valid sentence */
    double no_crossing, two_or_less; /* percent of valid sentences without crossing brackets; with at most two */
    double tagging;                  /* percent of words with the right tag */
    /* the sums behind the figures above, over valid sentences; gold_all over all sentences */
    int64_t matched, gold, test, gold_all, crossings, words, tags;
    int64_t complete_sentences, no_crossing_sentences, two_or_less_sentences;
} evalb_result;

/* gold, test: [n] lines, as for `tree_read`. rows: [n], or NULL. all, at_cutoff: results over all sentences, and over
 * sentences of at most p->cutoff words; either may be NULL. Errors: a gold line that is not a tree (with line and
 * column), more than p->max_error error sentences. */
int evalb_score(const evalb_params *p, const char *const *gold, const char *const *test, size_t n, evalb_row *rows,
                evalb_result *all, evalb_result *at_cutoff, err *e);
/* Sums over the rows with `least` to `most` words, and the scores of these sums. */
void evalb_sum(const evalb_row *rows, size_t n, int64_t least, int64_t most, evalb_result *out);

typedef struct {
    slice label;              /* without function tags; part of the line */
    size_t start, end, order; /* start, end: in words that count; order: among opening brackets */
    bool matched;             /* matched to a bracket of the other tree */
} evalb_bracket;
/* Compares brackets by start, then end: < 0, 0 or > 0. */
int evalb_compare_spans(const evalb_bracket *a, const evalb_bracket *b);
double evalb_percent(int64_t part, int64_t whole); /* percentage; 0 if the whole is 0 */
/* Calls `seen` for every valid sentence with the counted brackets of its gold and its test tree, sorted by start, end
 * and order. The brackets are valid only during the call. Returns -1 and e if a gold line is not a tree. */
typedef void evalb_seen(void *self, const evalb_bracket *gold, size_t n_gold, const evalb_bracket *test, size_t n_test);
int evalb_brackets(const evalb_params *p, const char *const *gold, const char *const *test, size_t n, evalb_seen *seen,
                   void *self, err *e);
/* stats[n][3]: matched, gold and found brackets, the rows of AB_SUM_F1. strict: for strict F1 instead of EVALB's. */
void evalb_stats(const evalb_row *rows, size_t n, bool strict, double *stats);
/* EVALB's output: a row per sentence, and both summaries. EVALB_FIRST is its format before 2006, as in the sample
 * shipped with EVALB: no F-measure; gold words in the rows of errors; the last row has the number of sentences without
 * crossing brackets instead of the number of crossing brackets. */
enum evalb_layout { EVALB_CURRENT, EVALB_FIRST };
void evalb_print_rows(FILE *f, enum evalb_layout layout, const evalb_row *rows, size_t n, const evalb_result *all);
void evalb_print_summary(FILE *f, enum evalb_layout layout, const evalb_params *p, const evalb_result *all,
                         const evalb_result *at_cutoff);
#endif
