/* log_sum.h - a row of logits in chunks, and the log of a sum of exponentials, chunk by chunk: select_row.c and
 * ensemble_row.c. */
#ifndef ABLATE_LOG_SUM_H
#define ABLATE_LOG_SUM_H
#include <math.h>

enum { LANES = 16, CHUNK = 1024 };

/* log sum exp so far: shift + log(sum) */
typedef struct {
    double shift, sum;
} log_sum;

static inline void add_to(log_sum *to, double shift, double sum)
{
    if (shift > to->shift) {
        to->sum *= exp(to->shift - shift);
        to->shift = shift;
    }
    to->sum += sum * exp(shift - to->shift);
}
#endif
