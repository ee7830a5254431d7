/* care.h - watches a long sweep: room on the disk and in memory, and runs whose dev curves show trouble. */
#ifndef ABLATE_CARE_H
#define ABLATE_CARE_H
#include "base/base.h"

/* Returns the free bytes minus the bytes that $ABLATE_KEEP_FREE keeps for others; 0: not known. */
double care_free_disk(const char *folder);
double care_free_memory(void); /* without swapping */

typedef struct { /* a run's dev perplexities so far; {0}: none */
    double first, best, last;
    int64_t n, step, best_step; /* n: number of evaluations; step: the last evaluation's */
    bool told;
} care_curve;
void care_see(care_curve *c, int64_t step, double dev_ppl);
/* Describes in `out` what is wrong with a run of `total` steps; NULL: nothing. A run is in trouble if its last dev
 * perplexity is not finite or exceeds 1.5 times the best, or if after a quarter of the steps and four evaluations the
 * best is still within 5 % of the first. */
const char *care_trouble(const care_curve *c, int64_t total, char out[128]);
#endif
