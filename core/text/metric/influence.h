/* influence.h - how much each sentence moves a corpus score, from the per-sentence statistics of metric/stats.h.
 *
 * The influence value z_j of sentence j is the derivative of the score with respect to the sentence's weight, times the
 * number m of sentences. The values sum to 0. Their mean square divided by m estimates the variance of the score under
 * resampling of sentences (infinitesimal jackknife: Efron 1982, chapter 6). With them, a corpus score can be tested
 * like a mean over sentences. Formulas: docs/statistics.md.
 *
 * rows: [m][width of the kind]; z: [m], filled. Each function returns the score; NaN (and z of NaN) if it is undefined.
 */
#ifndef ABLATE_METRIC_INFLUENCE_H
#define ABLATE_METRIC_INFLUENCE_H
#include <stddef.h>

/* rows: negative log-likelihood, tokens. Returns the log of the perplexity. */
double influence_log_ratio(const double *rows, size_t m, const void *options, double *z);
/* rows: part, whole. Returns percent. */
double influence_ratio(const double *rows, size_t m, const void *options, double *z);
/* rows: matched, gold, found. Returns percent. */
double influence_f1(const double *rows, size_t m, const void *options, double *z);
/* rows: BLEU_STATS numbers; options: a bleu_options or NULL. Omits orders without matches, which have no derivative. */
double influence_bleu(const double *rows, size_t m, const void *options, double *z);
#endif
