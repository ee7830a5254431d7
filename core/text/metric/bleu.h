/* bleu.h - corpus BLEU (Papineni et al. 2002), equal to sacreBLEU (Post 2018).
 *
 * All text is UTF-8 and belongs to the caller. Effective order is off, as in sacreBLEU for corpora. */
#ifndef ABLATE_METRIC_BLEU_H
#define ABLATE_METRIC_BLEU_H
#include "text/metric/tokenize.h"

/* Smoothing of an order without matches (Chen and Cherry 2014). exp: the k-th such order counts 1 / 2^k matches; floor:
 * `value` matches; add-k: `value` more matches and n-grams in every order above 1; none: BLEU is 0. */
#define BLEU_SMOOTHINGS(X) X(exp, "exp", 0) X(floor, "floor", 0.1) X(add_k, "add-k", 1) X(none, "none", 0)

#define BLEU_SMOOTH_ENUM(id, name, value) SMOOTH_##id,
enum bleu_smooth { BLEU_SMOOTHINGS(BLEU_SMOOTH_ENUM) N_BLEU_SMOOTHINGS };

typedef struct {
    enum tokenizer tok;
    bool lowercase;
    enum bleu_smooth smooth;
    double value; /* value of the smoothings floor and add-k */
} bleu_options;   /* {0} is sacreBLEU's default: 13a, mixed case, exp */

/* Reads options as in a command line or an INI: tok "13a", "none", "intl", "char", "zh", "compounds"; smooth "exp",
 * "floor", "floor=0.5", "add-k", "add-k=2", "none". NULL: the default. */
int bleu_options_parse(bleu_options *o, const char *tok, bool lowercase, const char *smooth, err *e);

enum { BLEU_ORDERS = 4, BLEU_STATS = 2 + 2 * BLEU_ORDERS };

typedef struct {
    double score;                                     /* 0 to 100 */
    double precisions[BLEU_ORDERS];                   /* percent, smoothed; all 0 if nothing matches */
    double bp;                                        /* brevity penalty, 0 to 1 */
    int64_t counts[BLEU_ORDERS], totals[BLEU_ORDERS]; /* matching n-grams and all n-grams, before smoothing */
    int64_t sys_len, ref_len; /* words; ref_len: of the reference closest in length; of two as close, the shorter one */
    char signature[160];
} bleu_score;

/* BLEU of hyp[0..n) against refs[0..n_refs)[0..n). `stats`, if not NULL, receives a row of BLEU_STATS per
 * sentence: sys_len, ref_len, matches of orders 1 to 4, n-grams of orders 1 to 4. Errors: text that is not UTF-8
 * (with its line, from 1), no sentences, no references. */
int bleu_corpus(const bleu_options *o, const char *const *hyp, const char *const *const *refs, size_t n_refs, size_t n,
                bleu_score *out, double *stats, err *e);
/* Adds the rows of some sentences to `sum` (initially zeros), for BLEU in parts (bleu_from_stats). */
int bleu_add(const bleu_options *o, const char *const *hyp, const char *const *const *refs, size_t n_refs, size_t n,
             double sum[BLEU_STATS], double *stats, err *e);
void bleu_result(const bleu_options *o, const double sum[BLEU_STATS], size_t n_refs, bleu_score *out);
/* BLEU from the sum of all rows. */
double bleu_from_stats(const double sum[BLEU_STATS], const bleu_options *o);
#endif
