/* Do verdicts keep their promises? Simulated rows go through compare_rows. Of tables whose rows lie at the margin, at
 * most 5 % call one equivalent, also after several looks and over eight rows; a row whose worst run fails is never
 * called better; p and interval never contradict each other. ABLATE_TEST_LONG simulates four times as much,
 * ABLATE_TEST_WHOLE ten times. */
#include "lab/report/compare.h"
#include "test.h"
#include <string.h>

enum { MOST_ROWS = 9, MOST_RUNS = 20 };
typedef struct {
    read_run runs[MOST_RUNS];
    read_result results[MOST_RUNS];
    read_row row;
} made_row;

static made_row rows[MOST_ROWS];
static const read_row *list[MOST_ROWS];

/* Makes row i with n seeds around `mean`, standard deviation 1. fails: its worst run fails. */
static void make(size_t i, size_t n, double mean, bool fails, rng *r)
{
    made_row *m = &rows[i];
    size_t worst = 0;
    *m = (made_row){.row = {.name = "row", .n_runs = n, .runs = m->runs, .is_base = !i}};
    for (size_t s = 0; s < n; s++) {
        m->results[s] = (read_result){.metric = "ACC", .direction = "max", .value = mean + rng_normal(r)};
        m->runs[s] = (read_run){.seed = (int64_t)s, .status = DB_DONE, .n_results = 1, .results = &m->results[s]};
        if (m->results[s].value < m->results[worst].value) worst = s;
    }
    if (fails) m->runs[worst].status = DB_FAILED, m->runs[worst].n_results = 0;
    list[i] = &m->row;
}

static const metric accuracy = {"ACC", "%", 1, NULL};
static comparison_criterion rule = {.margin = 1, .level = 0.05, .seeds = 3, .failed_as = NAN};

static void judge(size_t n, bool sequential, const double *failed_as, comparison *out)
{
    comparison_task t = {.metric = &accuracy,
                         .rows = list,
                         .n = n,
                         .sequential = sequential,
                         .margin = rule.margin,
                         .one_sided = rule.one_sided,
                         .failed_as = failed_as};
    compare_rows(&t, out, NULL);
    for (size_t i = 1; i < n; i++) {
        const comparison *c = &out[i];
        if (isnan(c->p) || fabs(c->p - 0.05) < 1e-6) continue;
        CHECK((c->p < 0.05) == (c->low > 0 || c->high < 0));
        CHECK(isnan(c->p_adjusted) || c->p_adjusted >= c->p);
    }
}

/* Share of tables that ever call a row equivalent, when all rows lie at the margin and are looked at with 3, 5, 10 and
 * 20 seeds. */
static double falsely_equivalent(size_t n_rows, size_t tables, rng *r)
{
    size_t any = 0;
    for (size_t t = 0; t < tables; t++) {
        comparison out[MOST_ROWS];
        bool called = false;
        for (size_t i = 0; i <= n_rows; i++) make(i, MOST_RUNS, i ? rule.margin : 0, false, r);
        for (size_t k = 0; k < N_LOOKS; k++) {
            for (size_t i = 0; i <= n_rows; i++) rows[i].row.n_runs = look_seeds[k];
            judge(n_rows + 1, true, NULL, out);
            for (size_t i = 1; i <= n_rows; i++)
                called |= same(comparison_verdict(&out[i], &rule, &accuracy), "equivalent");
        }
        any += called;
    }
    printf("%zu rows at the margin, four looks: %.1f %% of tables call one equivalent\n", n_rows,
           100 * (double)any / (double)tables);
    return (double)any / (double)tables;
}

static void check_failed(size_t n, size_t tries, rng *r)
{
    size_t better = 0, scored = 0;
    const double lowest = -3;
    for (size_t t = 0; t < tries; t++) {
        comparison out[2];
        make(0, n, 0, false, r);
        make(1, n, 0, true, r);
        judge(2, false, NULL, out);
        better += comparison_verdict(&out[1], &rule, &accuracy) != NULL;
        CHECK_INT(out[1].failed, 1);
        CHECK(!isnan(out[1].delta));
        judge(2, false, &lowest, out);
        CHECK_INT(out[1].n, n);
        scored += same(comparison_verdict(&out[1], &rule, &accuracy), "better");
    }
    CHECK_INT(better, 0);
    printf("n %zu, the worst run fails: scored as %g, %.1f %% better\n", n, lowest,
           100 * (double)scored / (double)tries);
    CHECK((double)scored / (double)tries <= 0.025);
}

/* not_worse_by: of rows that lose by the margin, at most 5 % are called not worse or better; of rows that gain by it,
 * more than 85 %. */
static void check_not_worse(size_t tries, rng *r)
{
    enum { N = 5 };
    rule.one_sided = true;
    for (int loses = 1; loses >= 0; loses--) {
        size_t called = 0, wrong = 0;
        for (size_t t = 0; t < tries; t++) {
            comparison out[2];
            make(0, N, 0, false, r);
            make(1, N, loses ? -rule.margin : rule.margin, false, r);
            judge(2, false, NULL, out);
            const char *verdict = comparison_verdict(&out[1], &rule, &accuracy);
            called += same(verdict, "not worse") || same(verdict, "better"), wrong += same(verdict, "equivalent");
        }
        double share = (double)called / (double)tries;
        printf("a row that %s by the margin: %.1f %% not worse or better\n", loses ? "loses" : "gains", 100 * share);
        CHECK_THAT(loses ? share <= 0.05 : share > 0.85, "not worse or better: found %.3f, expected %s", share,
                   loses ? "at most 0.05" : "more than 0.85");
        CHECK_INT(wrong, 0);
    }
    rule.one_sided = false;
}

/* A row that was added after there were results does not count: Holm's correction is over the other rows only. */
static void check_exploratory(rng *r)
{
    comparison out[4];
    make(0, 5, 0, false, r);
    for (size_t i = 1; i < 4; i++) make(i, 5, 5, false, r);
    judge(4, false, NULL, out);
    CHECK_NEAR(out[1].p_adjusted, fmax(3 * fmin(out[1].p, fmin(out[2].p, out[3].p)), out[1].p), 1);
    double with_three = out[1].p_adjusted + out[2].p_adjusted;
    rows[3].row.exploratory = true;
    judge(4, false, NULL, out);
    CHECK(out[3].exploratory && isnan(out[3].p_adjusted) && !isnan(out[3].p) && isnan(out[3].p_equivalent));
    CHECK_TEXT(comparison_verdict(&out[3], &rule, &accuracy), "exploratory");
    CHECK(out[1].p_adjusted + out[2].p_adjusted < with_three);
    CHECK_TEXT(comparison_verdict(&out[1], &rule, &accuracy), "better");
    rows[3].row.exploratory = false,
    rows[0].row.exploratory = true; /* the base itself was chosen after the runs: all rows are exploratory */
    judge(4, false, NULL, out);
    CHECK(out[1].exploratory);
}

/* With `base = 20` base has all its seeds at the first look. Without base_seeds only base's first three seeds count. */
static void check_looks_with_base(rng *r)
{
    comparison with[3], without[3];
    make(0, 20, 0, false, r);
    for (size_t i = 1; i < 3; i++) make(i, 3, 2, false, r);
    comparison_task t = {.metric = &accuracy, .rows = list, .n = 3, .sequential = true, .base_seeds = 20};
    compare_rows(&t, with, NULL);
    t.base_seeds = 0;
    compare_rows(&t, without, NULL);
    CHECK(with[1].repeated && with[1].p < 1);
    comparison all[3];
    t.sequential = false;
    compare_rows(&t, all, NULL);
    CHECK_INT(all[1].n_base, 20);
    CHECK_NEAR(with[1].p, fmin(1, all[1].p / look_weights[0]), 1e-12);
    CHECK(fabs(without[1].p - with[1].p) > 1e-6);
}

/* Seeds that only base got after there were results change nothing; if other rows got seeds at the same time, base's
 * new seeds count. */
static void check_late_base(rng *r)
{
    comparison before[3], after[3];
    make(0, 20, 0, false, r);
    for (size_t i = 1; i < 3; i++) make(i, 5, 2, false, r);
    rows[0].row.n_runs = 5;
    judge(3, false, NULL, before);
    rows[0].row.n_runs = 20;
    for (size_t s = 5; s < 20; s++) rows[0].runs[s].late = true;
    judge(3, false, NULL, after);
    CHECK_INT(after[1].late_base, 15);
    CHECK_INT(after[1].n_base, 5);
    CHECK_NEAR(after[1].p, before[1].p, 0);
    CHECK_NEAR(after[1].delta, before[1].delta, 0);
    rows[2].runs[4].late = true;
    judge(3, false, NULL, after);
    CHECK_INT(after[1].late_base, 0);
    CHECK_INT(after[1].n_base, 20);
}

int main(void)
{
    rng r = rng_seed(20261125, 0);
    size_t times = test_exhaustive() ? 10 : test_long() ? 4 : 1;
    CHECK(falsely_equivalent(1, 300 * times, &r) <= 0.055);
    CHECK(falsely_equivalent(8, 50 * times, &r) <= 0.05);
    check_failed(4, 300 * times, &r);
    check_failed(10, 100 * times, &r);
    r = rng_seed(20261125, 0); /* so that these rows do not depend on earlier draws */
    check_exploratory(&r);
    check_looks_with_base(&r);
    check_late_base(&r);
    check_not_worse(500 * times, &r);
    return test_end();
}
