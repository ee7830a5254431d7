#include "text/metric/influence.h"
#include "text/metric/bleu.h"
#include <math.h>
#include <string.h>

static void add_up(const double *rows, size_t m, size_t width, double *sum)
{
    memset(sum, 0, width * sizeof *sum);
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < width; k++) sum[k] += rows[j * width + k];
}

static double undefined(size_t m, double *z)
{
    for (size_t j = 0; j < m; j++) z[j] = NAN;
    return NAN;
}

/* theta = sum part / sum whole; z_j = scale m (part_j - theta whole_j) / sum whole */
static double ratio(const double *rows, size_t m, double scale, double *z)
{
    double sum[2];
    add_up(rows, m, 2, sum);
    if (!(sum[1] > 0)) return undefined(m, z);
    double theta = sum[0] / sum[1];
    for (size_t j = 0; j < m; j++) z[j] = scale * (double)m * (rows[2 * j] - theta * rows[2 * j + 1]) / sum[1];
    return scale * theta;
}

double influence_log_ratio(const double *rows, size_t m, const void *options, double *z)
{
    (void)options;
    return ratio(rows, m, 1, z);
}

double influence_ratio(const double *rows, size_t m, const void *options, double *z)
{
    (void)options;
    return ratio(rows, m, 100, z);
}

double influence_f1(const double *rows, size_t m, const void *options, double *z)
{
    (void)options;
    double sum[3];
    add_up(rows, m, 3, sum);
    double both = sum[1] + sum[2], f = 2 * sum[0] / both;
    if (!(both > 0)) return undefined(m, z);
    for (size_t j = 0; j < m; j++) {
        const double *r = rows + 3 * j;
        z[j] = 100 * (double)m * (2 * r[0] - f * (r[1] + r[2])) / both;
    }
    return 100 * f;
}

double influence_bleu(const double *rows, size_t m, const void *options, double *z)
{
    static const bleu_options usual;
    double sum[BLEU_STATS];
    add_up(rows, m, BLEU_STATS, sum);
    double score = bleu_from_stats(sum, options ? options : &usual), system = sum[0], reference = sum[1];
    if (!(system > 0)) return undefined(m, z);
    const double *match = sum + 2, *total = sum + 2 + BLEU_ORDERS;
    for (size_t j = 0; j < m; j++) {
        const double *r = rows + BLEU_STATS * j;
        double precision = 0, brevity = 0;
        for (size_t k = 0; k < BLEU_ORDERS; k++) {
            if (match[k] > 0) precision += r[2 + k] / match[k] / BLEU_ORDERS;
            if (match[k] > 0 && total[k] > 0) precision -= r[2 + BLEU_ORDERS + k] / total[k] / BLEU_ORDERS;
        }
        if (system < reference) brevity = reference * r[0] / (system * system) - r[1] / system;
        z[j] = (double)m * score * (precision + brevity);
    }
    return score;
}
