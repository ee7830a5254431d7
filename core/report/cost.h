/* cost.h - what training a row cost, as the paper's Table 2 has it and as it is counted. */
#ifndef ABLATE_COST_H
#define ABLATE_COST_H
#include "results/read.h"

/* FLOPs of a training of the row, counted on its traced tape: those of an update times updates. NaN where unknown. */
double training_flops(const read_row *row);
/* The paper's own estimate (section 6.1, footnote 5): time times devices (here one a run) times the sustained rate of the device, which it gives for K80, K40,
 * M40 and P100. NaN for others, and where no run is done. The mean over runs. */
double training_flops_by_formula(const read_row *row);
#endif
