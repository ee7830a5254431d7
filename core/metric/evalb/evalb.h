/* evalb.h - labelled bracketing recall, precision and F1 of parse trees, equal to EVALB (Sekine and Collins).
 *
 * Trees are paired by line. A sentence is valid (0), an error (1: its test tree is unbalanced, no tree, or
 * over other words than the gold tree) or skipped (2: no words left in the test tree). Errors and skips leave
 * both totals, so broken output raises F1; strict F1 counts their gold brackets as missed. There are no
 * limits on length or depth.
 */
#ifndef ABLATE_METRIC_EVALB_H
#define ABLATE_METRIC_EVALB_H
#include "metric/tree.h"

/* ---- parameters ---- */

typedef struct {
    const char **text;
    size_t n, cap;
} evalb_list; /* of pairs: text[2 i] and text[2 i + 1] */

typedef struct {
    int64_t max_error;            /* more error sentences than this end the scoring; -1: any number */
    int64_t cutoff;               /* words of the longest sentence in the second summary */
    bool labeled;                 /* labels have to match as well as spans */
    evalb_list delete_label;      /* leaves with such a tag and brackets with such a label do not count */
    evalb_list delete_for_length; /* leaves with such a tag do not count into a sentence's length */
    evalb_list quote_label; /* tags that may be quotation marks mistaken for words or the other way round */
    evalb_list eq_label, eq_word; /* pairs that count as equal */
    arena memory;                 /* of all text above */
} evalb_params;

/* The rules of EVALB's COLLINS.prm: TOP, -NONE- and punctuation deleted, ADVP the same as PRT; any number of
 * errors. */
void evalb_params_default(evalb_params *p);
/* From an EVALB parameter file: lines NAME VALUE, or # for a comment. What it does not set has EVALB's own
 * default: MAX_ERROR 10, CUTOFF_LEN 40, LABELED 1, empty lists. DEBUG is read and has no effect. */
int evalb_params_load(evalb_params *p, const char *path, err *e);
void evalb_params_free(evalb_params *p); /* also after a load that failed */

/* ---- scores ---- */

enum evalb_status { EVALB_VALID, EVALB_ERROR, EVALB_SKIP };

typedef struct {
    enum evalb_status status;
    char why[120];      /* of an error or a skip */
    int64_t length;     /* gold words, punctuation included */
    int64_t gold_words; /* gold words that count */
    int64_t gold_all;   /* gold brackets, whatever the status */
    /* The figures of EVALB's row. They are 0 for errors and skips, but for unbalanced trees over the right
     * words, whose figures are those of the tree with the missing brackets added. */
    int64_t matched, gold, test; /* brackets */
    int64_t crossing;            /* test brackets that cross a gold bracket */
    int64_t words, tags;         /* words that count, and those with the right tag */
} evalb_row;

typedef struct {
    int64_t sentences, errors, skipped, valid;
    double recall, precision,
        f1; /* percent, over summed counts of valid sentences; 0 where nothing is there to divide by */
    double strict_recall, strict_f1; /* the gold brackets of errors and skips count as missed */
    double complete;                 /* percent of valid sentences in which all brackets match */
    double crossing;                 /* crossing brackets a valid sentence */
    double no_crossing, two_or_less; /* percent of valid sentences with none, with at most two */
    double tagging;                  /* percent of words */
    /* the sums behind these figures: over valid sentences, gold_all over every sentence */
    int64_t matched, gold, test, gold_all, crossings, words, tags;
    int64_t complete_sentences, no_crossing_sentences, two_or_less_sentences;
} evalb_result;

/* gold, test: [n] lines, as `tree_read` takes them. rows: [n], or NULL. all, at_cutoff: over all sentences
 * and over those of at most p->cutoff words; either may be NULL. A gold line that is no tree is an error that
 * names the line and the column; so are more than p->max_error error sentences. */
int evalb_score(const evalb_params *p, const char *const *gold, const char *const *test, size_t n,
                evalb_row *rows, evalb_result *all, evalb_result *at_cutoff, err *e);
/* Sums and figures over the rows whose length is from `least` to `most` words. */
void evalb_sum(const evalb_row *rows, size_t n, int64_t least, int64_t most, evalb_result *out);

typedef struct {
    slice label;               /* without function tags; part of the line */
    size_t start, end, order;  /* over the words that count; order: of the opening brackets */
    bool matched;              /* to one of the other tree */
} evalb_bracket;
/* Shows the brackets of every valid sentence to `seen`: those of the gold and of the test tree that count, each by
 * start, end and order. They are gone when it returns. -1 and words where a gold line is no tree. */
typedef void evalb_seen(void *self, const evalb_bracket *gold, size_t n_gold, const evalb_bracket *test, size_t n_test);
int evalb_brackets(const evalb_params *p, const char *const *gold, const char *const *test, size_t n, evalb_seen *seen,
                   void *self, err *e);
/* stats[n][3]: matched, gold, found of each sentence, the rows of AB_SUM_F1. Their F1 is EVALB's, or the
 * strict one. */
void evalb_stats(const evalb_row *rows, size_t n, bool strict, double *stats);
/* EVALB's printed form: a row for each sentence, and both summaries. EVALB_FIRST is that of the releases
 * before 2006, as in the sample that comes with it: no F-measure, gold words in the rows of errors, and the
 * number of sentences without crossing brackets where the last row has the number of crossing brackets since.
 */
enum evalb_layout { EVALB_CURRENT, EVALB_FIRST };
void evalb_print_rows(FILE *f, enum evalb_layout layout, const evalb_row *rows, size_t n,
                      const evalb_result *all);
void evalb_print_summary(FILE *f, enum evalb_layout layout, const evalb_params *p, const evalb_result *all,
                         const evalb_result *at_cutoff);
#endif
