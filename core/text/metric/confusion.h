/* confusion.h - errors of a parser: confused labels, and F1 by sentence length.
 *
 * Counts the brackets that EVALB counts, over valid sentences. A gold bracket is right if it is matched. An unmatched
 * gold bracket over the same words as an unmatched test bracket was taken for the test bracket's label (several over
 * the same words are paired from the outermost inwards). The remaining gold brackets are missed, the remaining test
 * brackets spurious. */
#ifndef ABLATE_METRIC_CONFUSION_H
#define ABLATE_METRIC_CONFUSION_H
#include "text/metric/evalb/evalb.h"

typedef struct { /* brackets of one label */
    const char *label;
    int64_t gold, right, taken, missed; /* gold = right + taken + missed */
    int64_t test, test_right, test_taken,
        spurious; /* spurious: in test trees; test_right differs from right if labels count as equal (ADVP and PRT) */
} confusion_label;
typedef struct {
    const char *gold, *test;
    int64_t n;
} confusion_pair;

typedef struct {
    confusion_label *labels; /* most frequent in gold trees first */
    size_t n_labels, cap_labels;
    confusion_pair *pairs; /* confused pairs, most frequent first */
    size_t n_pairs, cap_pairs;
    arena memory; /* owns the names of labels */
} confusion;      /* {0} is empty */

/* Adds gold and test trees, [n] lines as for evalb_score. Returns 0, or -1, e and *out empty. */
int confusion_count(const evalb_params *p, const char *const *gold, const char *const *test, size_t n, confusion *out,
                    err *e);
void confusion_free(confusion *c);
/* Appends a table of labels, and the `most` most frequent pairs. JSON: two members, "labels" and "taken". */
void confusion_text(const confusion *c, size_t most, str *out);
void confusion_json(const confusion *c, size_t most, str *out);

/* Appends F1 for sentences of 1-10, 11-20, 21-30, 31-40 and more gold words. JSON: one member, "by_length". */
void by_length_text(const evalb_row *rows, size_t n, str *out);
void by_length_json(const evalb_row *rows, size_t n, str *out);
#endif
