#include "lab/statistics/stream.h"
#include <math.h>

static const double power = 1.6, zeta = 2.28576566568; /* the sum of t^-1.6 */

void stream_levels(const double *p, size_t n, double level, double *levels)
{
    size_t rejected = 0;
    for (size_t t = 0; t < n; t++) {
        levels[t] = level * pow((double)t + 1, -power) / zeta * (double)(1 + rejected);
        rejected += p[t] <= levels[t];
    }
}
