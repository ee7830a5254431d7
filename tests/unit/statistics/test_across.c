/* Rows compared over several tasks: figures worked by hand, and how often the interval covers the truth. */
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
    /* both tasks have the same weight, whatever their number of runs: the middle half has half of the 2s (weight 1/2)
     * and a quarter of the 4s */
    static const double twos[] = {2, 2}, fours[] = {4, 4, 4, 4};
    across_task both[] = {{one, twos, 1, 2, false}, {one, fours, 1, 4, false}};
    CHECK_NEAR(across_iqm(both, 2, 0.05).value, 3, 1e-15);
    /* the row wins 2 and ties 1 of 2 x 2 pairs on the first task, and wins all pairs on the second */
    static const double base[] = {3, 1}, row[] = {3, 2}, low[] = {0.5, 0.25};
    across_task pairs[] = {{base, row, 2, 2, false}, {base, low, 2, 2, true}};
    CHECK_NEAR(across_better(pairs, 2, 0.05).value, (2.5 / 4 + 1) / 2, 1e-15);
    across_figure share[3];
    across_profile(&a, 1, 0.05, (double[]){0.5, 5.5, 40}, 3, share);
    CHECK_NEAR(share[0].value, 1, 1e-15);
    CHECK_NEAR(share[1].value, 0.5, 1e-15);
    CHECK_NEAR(share[2].value, 0, 1e-15);
    /* equal runs give an interval of width 0 */
    across_figure none = across_iqm(both, 2, 0.05);
    CHECK(none.low == none.value && none.high == none.value);
}

/* Row and base are alike: how often does the interval of the IQM cover 1? */
static void check_calibration(int tasks, int seeds, double least, double most)
{
    enum { TASKS = 5, SEEDS = 5 };
    const int times = test_exhaustive() ? 1500 : 600;
    rng r = rng_seed(11, 0);
    int held = 0;
    for (int i = 0; i < times; i++) {
        double v[TASKS][2][SEEDS];
        across_task t[TASKS];
        for (int k = 0; k < tasks; k++) {
            for (int j = 0; j < 2 * seeds; j++)
                v[k][j / seeds][j % seeds] = (k % 2 ? 60 : 25) * (1 + 0.02 * rng_normal(&r));
            t[k] = (across_task){v[k][0], v[k][1], (size_t)seeds, (size_t)seeds, k % 2};
        }
        across_figure f = across_iqm(t, (size_t)tasks, 0.05);
        held += f.low <= 1 && f.high >= 1;
    }
    double share = (double)held / times;
    printf("%d tasks, %d seeds: the interval held the truth in %.1f %% of %d\n", tasks, seeds, 100 * share, times);
    CHECK(share > least && share < most);
}

int main(void)
{
    check_figures();
    if (test_long()) {
        check_calibration(2, 3, 0.895, 0.965);
        check_calibration(5, 5, 0.93, 0.97);
    }
    return test_end();
}
