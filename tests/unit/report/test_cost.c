/* The paper's Table 2 gives base, 12 hours on 8 P100 of 9.5 TFLOPS, as 3.3e18 FLOPs. 96 hours on one such GPU give the
 * same number. */
#include "lab/report/cost.h"
#include "test.h"
#include <math.h>

int main(void)
{
    read_run one = {.seconds = 8 * 12 * 3600, .device = "Tesla P100-SXM2-16GB", .flops_step = 2e12, .total_steps = 500};
    read_run cpu = one;
    cpu.device = "AMD EPYC";
    read_row row = {.runs = &one, .n_runs = 1}, other = {.runs = &cpu, .n_runs = 1}, none = {0};
    CHECK_NEAR(training_flops_by_formula(&row, 0) / 1e18, 3.2832, 1e-9);
    CHECK_NEAR(training_flops_by_formula(&row, 1e12) / 1e18, 3.2832, 1e-9); /* the paper's rate of 9.5 TFLOPS */
    CHECK(isnan(training_flops_by_formula(&other, 0)));
    CHECK_NEAR(training_flops_by_formula(&other, 1e12) / 1e17, 3.456, 1e-9);
    CHECK(isnan(training_flops_by_formula(&none, 1e12)));
    CHECK_NEAR(training_flops(&row), 1e15, 0);
    CHECK(isnan(training_flops(&none)));
    return test_end();
}
