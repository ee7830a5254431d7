/* Rows over tasks: figures that can be counted by hand, and how often the interval holds the truth. */
#include "lab/statistics/across.h"
#include "test.h"
#include <math.h>

static const double one[] = {1};

static void check_figures(void)
{
    /* scipy.stats.trim_mean(scores, 0.25) of eight scores is the mean of the middle four */
    static const double eight[] = {8, 1, 7, 2, 6, 3, 5, 40};
    across_task a = {one, eight, 1, 8, false};
    CHECK_NEAR(across_iqm(&a, 1, 0.05).value, (3 + 5 + 6 + 7) / 4.0, 1e-15);
    /* less is better: scores 1, 2, 4, 8 of values 1/x */
    static const double less[] = {1, 0.5, 0.25, 0.125};
    across_task b = {one, less, 1, 4, true};
    CHECK_NEAR(across_iqm(&b, 1, 0.05).value, 3, 1e-15);
    /* two tasks weigh the same, whatever their runs: the middle half is half of 2 (weight 1/2) and 1/4 of 4 */
    static const double twos[] = {2, 2}, fours[] = {4, 4, 4, 4};
    across_task both[] = {{one, twos, 1, 2, false}, {one, fours, 1, 4, false}};
    CHECK_NEAR(across_iqm(both, 2, 0.05).value, 3, 1e-15);
    /* of 2 x 2 pairs the row wins 2 and ties 1 on the first task, all on the second */
    static const double base[] = {3, 1}, row[] = {3, 2}, low[] = {0.5, 0.25};
    across_task pairs[] = {{base, row, 2, 2, false}, {base, low, 2, 2, true}};
    CHECK_NEAR(across_better(pairs, 2, 0.05).value, (2.5 / 4 + 1) / 2, 1e-15);
    across_figure share[3];
    across_profile(&a, 1, 0.05, (double[]){0.5, 5.5, 40}, 3, share);
    CHECK_NEAR(share[0].value, 1, 1e-15);
    CHECK_NEAR(share[1].value, 0.5, 1e-15);
    CHECK_NEAR(share[2].value, 0, 1e-15);
    /* equal runs: no width */
    across_figure none = across_iqm(both, 2, 0.05);
    CHECK(none.low == none.value && none.high == none.value);
}

/* Two tasks, three seeds, row and base alike: the interval of the IQM holds 1 in 92 % of experiments; without the
 * factor for few runs in 86 %. */
static void check_calibration(void)
{
    enum { TIMES = 1500, SEEDS = 3 };
    rng r = rng_seed(11, 0);
    int held = 0;
    for (int i = 0; i < TIMES; i++) {
        double v[2][2][SEEDS];
        for (int t = 0; t < 2; t++)
            for (int k = 0; k < 2 * SEEDS; k++)
                v[t][k / SEEDS][k % SEEDS] = (t ? 60 : 25) * (1 + 0.02 * rng_normal(&r));
        across_task t[] = {{v[0][0], v[0][1], SEEDS, SEEDS, false}, {v[1][0], v[1][1], SEEDS, SEEDS, true}};
        across_figure f = across_iqm(t, 2, 0.05);
        held += f.low <= 1 && f.high >= 1;
    }
    printf("the interval held the truth in %.1f %% of %d experiments\n", 100.0 * held / TIMES, TIMES);
    CHECK(held > 0.895 * TIMES && held < 0.965 * TIMES);
}

int main(void)
{
    check_figures();
    if (test_long()) check_calibration();
    return test_end();
}
