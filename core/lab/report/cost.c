/* cost.c - training cost, counted and by the paper's formula. */
#include "lab/report/cost.h"
#include <math.h>
#include <string.h>

double training_flops(const read_row *row)
{
    for (size_t i = 0; i < row->n_runs; i++)
        if (isfinite(row->runs[i].flops_step) && row->runs[i].total_steps > 0)
            return row->runs[i].flops_step * (double)row->runs[i].total_steps;
    return NAN;
}

/* Sustained FLOPs per second in single precision: Vaswani et al. 2017, section 6.1, footnote 5. */
static double sustained(const char *device, double other)
{
    static const struct {
        const char *name;
        double tera;
    } known[] = {{"K80", 2.8}, {"K40", 3.7}, {"M40", 6.0}, {"P100", 9.5}};
    for (size_t i = 0; device && i < LENGTH(known); i++)
        if (strstr(device, known[i].name)) return known[i].tera * 1e12;
    return other > 0 ? other : NAN;
}

double training_flops_by_formula(const read_row *row, double rate)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < row->n_runs; i++) {
        const read_run *r = &row->runs[i];
        double flops = r->seconds * sustained(r->device, rate);
        if (isfinite(flops)) sum += flops, n++;
    }
    return n ? sum / n : NAN;
}
