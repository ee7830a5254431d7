/* ter.h - corpus TER, translation edit rate (Snover et al. 2006), equal to sacreBLEU (Post 2018), which follows Tercom.
 *
 * Edits of a sentence: words inserted, deleted and replaced, and blocks of words shifted; TER is their number per word
 * of the reference, in percent. Lower is better. With several references, a sentence counts the fewest edits and the
 * references' mean length. All text is UTF-8 and belongs to the caller. */
#ifndef ABLATE_METRIC_TER_H
#define ABLATE_METRIC_TER_H
#include "base/base.h"

typedef struct {
    bool case_sensitive; /* false: both sides are lowercased */
    bool normalized;     /* Tercom's tokenisation of punctuation */
    bool no_punct;       /* . , ? : ; ! " ( ) are removed */
    bool asian;          /* normalized and no_punct also treat Chinese and Japanese characters */
} ter_options;           /* {0} is sacreBLEU's default */

enum { TER_STATS = 2 }; /* per sentence: edits, words of the reference */

typedef struct {
    double score; /* percent, may be above 100 */
    double edits, ref_len;
    char signature[160];
} ter_score;

/* TER of hyp[0..n) against refs[0..n_refs)[0..n), in parts: add the rows of some sentences to `sum` (initially zeros),
 * then compute the score from it. `stats`, if not NULL, receives a row of TER_STATS per sentence. Errors: text that is
 * not UTF-8 (with its line, from 1), no references. */
int ter_add(const ter_options *o, const char *const *hyp, const char *const *const *refs, size_t n_refs, size_t n,
            double sum[TER_STATS], double *stats, err *e);
void ter_result(const ter_options *o, const double sum[TER_STATS], size_t n_refs, ter_score *out);
double ter_from_stats(const double sum[TER_STATS]);
/* Returns the number of edits that turn hyp into ref; words are given as numbers. */
int64_t ter_edits(const int32_t *hyp, size_t n_hyp, const int32_t *ref, size_t n_ref);
#endif
