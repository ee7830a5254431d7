#include "lab/statistics/choice.h"
#include "base/distribution.h"
#include <math.h>

/* The probability that candidate k is the least: the integral over its deviation x of its density times the others'
 * chances to be above. Smooth with normal tails: the trapezoidal rule is exact to many digits. */
static double chosen(const double *behind, size_t n, size_t k, double sd)
{
    enum { STEPS = 96 };
    const double far = 9, step = 2 * far / STEPS;
    double sum = 0;
    if (isinf(behind[k])) return 0;
    for (int i = 0; i <= STEPS; i++) {
        double x = -far + step * i, product = exp(-x * x / 2);
        for (size_t j = 0; j < n; j++)
            if (j != k && !isinf(behind[j])) product *= normal_tail((behind[k] - behind[j]) / sd + x);
        sum += product;
    }
    return sum * step / sqrt(2 * M_PI);
}

double choice_variance(const double *behind, size_t n, double sd)
{
    double all = 0, mean = 0, square = 0;
    if (!(sd > 0)) return 0;
    for (size_t k = 0; k < n; k++) {
        double p = chosen(behind, n, k, sd);
        if (p > 0) all += p, mean += p * behind[k], square += p * behind[k] * behind[k];
    }
    return all > 0 ? fmax(0, square / all - mean * mean / (all * all)) : 0;
}
