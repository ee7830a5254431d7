/* care.h - what a long sweep looks after by itself: room on the disk and in memory, and runs whose curves say that they
 * go wrong. */
#ifndef ABLATE_CARE_H
#define ABLATE_CARE_H
#include "base/base.h"

/* Bytes that can be had, less those that $ABLATE_KEEP_FREE keeps for others; 0: not known. */
double care_free_disk(const char *folder);
double care_free_memory(void); /* without swapping */

typedef struct { /* of a run's dev perplexity; {0}: nothing seen */
    double first, best, last;
    int64_t n, step, best_step; /* step: of the last */
    bool told;
} care_curve;
void care_see(care_curve *c, int64_t step, double dev_ppl);
/* Why the run looks wrong after `step` of `total` steps, in `out`; NULL: it does not. Not finite; half as much again as
 * its best evaluation was; or within 5 % of its first one after a quarter of its steps and four evaluations. */
const char *care_trouble(const care_curve *c, int64_t total, char out[128]);
#endif
