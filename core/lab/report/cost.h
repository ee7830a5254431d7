/* cost.h - training cost of a row: counted, and by the formula of the paper's Table 2. */
#ifndef ABLATE_COST_H
#define ABLATE_COST_H
#include "lab/results/read.h"

/* FLOPs of training the row, counted on its traced tape: per update, times updates. NaN: unknown. */
double training_flops(const read_row *row);
/* The paper's estimate (section 6.1, footnote 5), as the mean over runs: time times devices (here one per run) times
 * the device's sustained rate, which the paper gives for K80, K40, M40 and P100. `rate`: FLOPs per second of other
 * devices, 0: unknown. NaN if the rate is unknown or no run is done. */
double training_flops_by_formula(const read_row *row, double rate);
#endif
