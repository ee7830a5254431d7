/* Comparisons of rows with base: a recorded experiment gives independently computed numbers, and the number of seeds
 * decides which claims are made. */
#include "base/distribution.h"
#include "base/gzip.h"
#include "lab/report/compare.h"
#include "lab/report/gather.h"
#include "lab/results/db.h"
#include "test.h"
#include "text/metric/documents.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_PRINTED(found, printed) CHECK_NEAR(found, printed, 6e-9 * fmax(fabs((double)(printed)), 1e-3))

/* experiments/recorded/parsing-craft-silver.json.gz: three seeds per row; F1 over 9,099 sentences in 30 documents; log
 * of PPL over 2,780 sentences in 7. */
typedef struct {
    const char *metric;
    double d, low, high, p, v, u, df, seed_sd;
} by_hand;
static const by_hand over_sentences[] = {
    {"F1", 0.0938495164, -3.26261008, 3.45030912, 0.93441887, 1.1009387, 0.000221360958, 2.97313997, 0.813497943},
    {"PPL", 0.00544968308, -0.017195611, 0.0280949771, 0.513334023, 5.54710453e-05, 0, 3.26647411, 0.00655397652}};
/* u here is over documents, times (t / 1.959964)^2 with Student's quantile t: 2.045230 for the 30 documents of test,
 * 2.446912 for the 7 of dev */
static const by_hand over_documents[] = {
    {"F1", 0.0938495164, -3.27049899, 3.45819802, 0.934762837, 1.1009387, 0.01402336, 2.97313997, 0.801176658},
    {"PPL", 0.00544968308, -0.0173669151, 0.0282662813, 0.51895835, 5.54710453e-05, 2.02730529e-06, 3.26647411,
     0.00644875831}};

/* Collects one row's runs of a metric, without checking which tokens they are over. */
static arm arm_of(const read_row *row, const char *metric)
{
    double scores[8] = {0}, *z = NULL;
    size_t n = 0, m = 0;
    bool documents = false;
    for (size_t i = 0; i < row->n_runs; i++)
        for (size_t k = 0; k < row->runs[i].n_results; k++) {
            const read_result *x = &row->runs[i].results[k];
            if (!same(x->metric, metric)) continue;
            m = x->stats.n, documents = x->documents;
            z = xrealloc(z, (n + 1) * m * sizeof *z);
            CHECK(influence_of(x, z + n * m));
            scores[n++] = same(metric, "PPL") ? log(x->value) : x->value;
        }
    arm a = arm_measure(scores, z, n, m);
    if (documents) a.widening = documents_widening(m);
    free(z);
    return a;
}

/* Returns the path of the recorded experiment, or of a copy that does not say which sentences are of one document. */
static char *runs_of(const char *folder, bool documents)
{
    static const char recorded[] = SOURCE_DIR "/experiments/recorded/parsing-craft-silver.json.gz";
    if (documents) return xstrdup(recorded);
    char *copy = path_join(folder, "sentences.json");
    str text = {0};
    err e = {0};
    CHECK_INT(gzip_read(recorded, SIZE_MAX, &text, &e), 0);
    for (char *at = text.s; at && (at = strstr(at, "\"documents "));) at[1] = 'D';
    CHECK_INT(file_write(copy, str_text(&text), text.n, &e), 0);
    str_free(&text);
    return copy;
}

static void check_recorded(const char *folder, bool documents)
{
    const by_hand *worked = documents ? over_documents : over_sentences;
    err e = {0};
    arena a = {0};
    gathered g = {0};
    char *path = path_join(folder, documents ? "documents.db" : "sentences.db"), *runs = runs_of(folder, documents);
    db_options o = {.path = path};
    db *d = db_open(&o, &e);
    CHECK_INT(db_import(d, runs, false, NULL, &e), 0);
    db_close(d);
    reader *r = reader_open(&o, &e);
    table_options t = {.trials = 10};
    CHECK_INT(gather(r, "parsing-craft-silver", &t, false, &a, &g, &e), 0);
    CHECK_TEXT(e.text, "");
    for (size_t k = 0; k < LENGTH(over_sentences) && g.x.n_rows == 2; k++) {
        arm row = arm_of(g.rows[1].row, worked[k].metric), base = arm_of(g.rows[0].row, worked[k].metric);
        difference x = design_compare(&row, &base, INFINITY);
        CHECK_PRINTED(x.d, worked[k].d);
        CHECK_PRINTED(x.low, worked[k].low);
        CHECK_PRINTED(x.high, worked[k].high);
        CHECK_PRINTED(x.p, worked[k].p);
        CHECK_PRINTED(x.v, worked[k].v);
        CHECK_PRINTED(x.u, worked[k].u);
        CHECK_PRINTED(x.df, worked[k].df);
        CHECK_PRINTED(arm_seed_sd(&row), worked[k].seed_sd);
        arm_free(&row);
        arm_free(&base);
    }
    /* the table has the same numbers for F1, and refuses PPL: silver trees change the vocabulary */
    for (size_t m = 0; m < g.n_metrics && g.x.n_rows == 2; m++) {
        const comparison *c = &g.rows[1].against[m];
        if (same(g.metrics[m], "PPL")) CHECK_HAS(c->refused, "perplexities per token");
        if (!same(g.metrics[m], "F1")) continue;
        CHECK_PRINTED(c->delta, worked[0].d);
        CHECK_PRINTED(c->low, worked[0].low);
        CHECK_PRINTED(c->high, worked[0].high);
        CHECK_PRINTED(c->p, worked[0].p);
        CHECK_PRINTED(c->seed_sd, worked[0].seed_sd);
        CHECK(c->crossed && !c->shared && isnan(c->p_models));
    }
    arena_free(&a);
    reader_close(r);
    free(path);
    free(runs);
}

/* ---- made-up rows ---- */

enum { MOST_RUNS = 10, SENTENCES = 40, MOST_ROWS = 8 };
typedef struct {
    read_run runs[MOST_RUNS];
    read_result results[MOST_RUNS];
    double stats[MOST_RUNS][2 * SENTENCES];
    read_row row;
} made_row;

static made_row rows[MOST_ROWS];
static const read_row *list[MOST_ROWS];

/* Makes row i: n seeds of accuracy around `mean` percent, over SENTENCES sentences of ten words. */
static void make(size_t i, size_t n, double mean, double spread, const char *metric)
{
    made_row *m = &rows[i];
    rng r = rng_seed(i, 5);
    *m = (made_row){.row = {.name = "row", .n_runs = n, .runs = m->runs, .is_base = !i}};
    for (size_t s = 0; s < n; s++) {
        double right = 0, level = mean + spread * rng_normal(&r);
        for (size_t j = 0; j < SENTENCES; j++) {
            m->stats[s][2 * j] = level / 10 + 0.3 * rng_normal(&r);
            m->stats[s][2 * j + 1] = 10;
            right += m->stats[s][2 * j];
        }
        bool log_scale = same(metric, "PPL");
        double value = log_scale ? exp(right / (10 * SENTENCES)) : 100 * right / (10 * SENTENCES);
        m->results[s] = (read_result){.metric = metric,
                                      .direction = log_scale ? "min" : "max",
                                      .value = value,
                                      .stats = {SENTENCES, 2, m->stats[s]}};
        m->runs[s] = (read_run){.seed = (int64_t)s, .status = DB_DONE, .n_results = 1, .results = &m->results[s]};
    }
    list[i] = &m->row;
}

static comparison compare(size_t n_rows, size_t of, size_t *tests)
{
    comparison out[MOST_ROWS];
    const read_result *x = &rows[0].results[0];
    metric m = {x->metric, NULL, metric_direction(x->direction), sum_of(x)};
    comparison_task t = {.metric = &m, .rows = list, .n = n_rows, .base = 0, .trials = 200};
    size_t best, found = compare_rows(&t, out, &best);
    if (tests) *tests = found;
    return out[of];
}

static void check_by_seeds(void)
{
    size_t tests;
    make(0, 1, 50, 1, "ACC"), make(1, 1, 55, 1, "ACC");
    comparison c = compare(2, 1, &tests);
    CHECK(isnan(c.p) && isnan(c.low) && isnan(c.p_outside) && !isnan(c.p_models) && !isnan(c.delta));
    CHECK_INT(tests, 0);
    make(0, 3, 50, 1, "ACC");
    c = compare(2, 1, &tests);
    /* a single run compared with three of base, which Holm does not count */
    CHECK(isnan(c.p) && c.p_outside < 0.2 && !isnan(c.p_models));
    CHECK_INT(tests, 0);
    make(1, 2, 55, 1, "ACC");
    c = compare(2, 1, &tests);
    CHECK(c.p < 0.3 && c.low < c.delta && c.delta < c.high && isnan(c.p_models) && isnan(c.beats.theta) && c.crossed);
    CHECK_INT(tests, 1);
    make(0, 5, 50, 1, "ACC"), make(1, 5, 55, 1, "ACC");
    c = compare(2, 1, NULL);
    CHECK(c.p < 0.01 && c.low > 0 && c.low < c.high && comparison_detectable(&c) > 0);
    CHECK_NEAR(c.beats.theta, 1, 0);
    CHECK_NEAR(c.p_permutation, 2. / 252, 1e-12);
    rows[1].results[4].value = NAN; /* a diverged run does not enter the mean, but loses to every seed of base */
    c = compare(2, 1, NULL);
    CHECK_INT(c.n, 4);
    CHECK(isnan(c.beats.theta)); /* only four seeds have results */
    CHECK(c.failed == 1 && !isnan(c.delta) && isnan(c.p) && isnan(c.low) && isnan(c.p_adjusted));
    read_result alone = {.metric = "PPL", .value = NAN}; /* the only result of a run that diverged */
    rows[1].results[4].value = 55, rows[1].runs[4].results = &alone;
    c = compare(2, 1, NULL);
    CHECK_INT(c.n, 4);
    CHECK_INT(c.failed, 1);
    CHECK(!isnan(c.delta) && isnan(c.p) && isnan(c.low));
}

static void check_shared(void)
{
    for (size_t i = 0; i < 6; i++) make(i, 3, 50, 1, "ACC");
    comparison c = compare(6, 1, NULL);
    CHECK(c.shared && c.planned_row.prior_df > 0 && c.planned_row.n == 3);
    CHECK(c.planned_base.prior_df == 0 && c.planned_base.df == 2); /* base's variance is not shared */
    CHECK_TEXT(comparison_rule(&c), "crossed components, shared variances");
    c = compare(4, 1, NULL); /* too few rows to share variances */
    CHECK(!c.shared && c.df <= 4);
    make(2, 2, 50, 1, "ACC");
    CHECK(!compare(5, 2, NULL).shared); /* only four rows have three seeds */
}

static void check_refused(void)
{
    make(0, 3, 2, 0.1, "PPL"), make(1, 3, 2, 0.1, "PPL");
    comparison c = compare(2, 1, NULL);
    CHECK(!c.refused && c.percent && !isnan(c.p));
    for (size_t s = 0; s < 3; s++) rows[1].stats[s][1] = 12; /* another vocabulary */
    c = compare(2, 1, NULL);
    CHECK_HAS(c.refused, "perplexities per token are not comparable");
    CHECK(isnan(c.delta) && isnan(c.p) && isnan(c.p_models));
    make(0, 3, 50, 1, "ACC"), make(1, 3, 50, 1, "ACC");
    for (size_t s = 0; s < 3; s++) rows[0].runs[s].references = "dev.ref aa", rows[1].runs[s].references = "dev.ref bb";
    CHECK_HAS(compare(2, 1, NULL).refused, "references differ");
    for (size_t s = 0; s < 3; s++)
        rows[1].runs[s].references = "dev.ref aa", rows[1].results[s].stats.n = SENTENCES - 1;
    c = compare(2, 1, NULL);
    CHECK(!c.refused && !c.crossed && !isnan(c.p)); /* other sentences than base's: compared over seeds only */
    CHECK_TEXT(comparison_rule(&c), "seeds only");
}

/* If a record omits statistics, tests that need them are omitted, not replaced by others. */
static void check_left_out(void)
{
    make(0, 5, 50, 1, "ACC"), make(1, 5, 55, 1, "ACC");
    comparison with = compare(2, 1, NULL);
    for (size_t s = 0; s < 5; s++) rows[1].results[s].stats = (db_stats){0}, rows[1].results[s].left_out = true;
    comparison c = compare(2, 1, NULL);
    CHECK(c.left_out && !with.left_out && !c.refused && !with.refused);
    CHECK_NEAR(c.delta, with.delta, 0);
    CHECK(isnan(c.p) && isnan(c.low) && isnan(c.high) && isnan(c.seed_sd) && isnan(c.p_adjusted));
    CHECK_NEAR(c.p_permutation, with.p_permutation, 0); /* this test is over seeds anyway */
    CHECK_NEAR(c.beats.theta, with.beats.theta, 0);
    for (size_t s = 0; s < 5; s++) rows[1].results[s].left_out = false;
    CHECK(!isnan(compare(2, 1, NULL).p)); /* the metric never had statistics */
    make(0, 3, 50, 1, "ACC"), make(1, 1, 55, 1, "ACC");
    rows[0].results[2].left_out = true;
    c = compare(2, 1, NULL);
    CHECK(c.left_out && isnan(c.p_outside) && !isnan(c.delta));
    make(0, 3, 2, 0.1, "PPL"), make(1, 3, 2, 0.1, "PPL");
    rows[0].results[0].left_out = true;
    c = compare(2, 1, NULL);
    CHECK(c.refused && c.left_out && isnan(c.delta)); /* base's number of tokens is unknown */
    for (size_t s = 0; s < 3; s++) rows[0].runs[s].references = "dev.ref aa", rows[1].runs[s].references = "dev.ref bb";
    c = compare(2, 1, NULL);
    CHECK(!c.left_out); /* the statistics would make no difference */
    CHECK_HAS(c.refused, "references differ");
}

/* Two bases, with means 50 and 80, the second with more variance, and each with rows of its own. A row gets the numbers
 * that it gets in a table with its base alone, except that Holm counts all rows. */
static void check_bases(void)
{
    enum { OF_FIRST = 3, N = 2 * OF_FIRST };
    static const size_t bases[N] = {0, 0, 0, 3, 3, 3};
    comparison out[N], alone;
    for (size_t i = 0; i < N; i++) {
        bool first = i < OF_FIRST;
        make(i, 5, (first ? 50 : 80) + (i % OF_FIRST ? 5 : 0), first ? 1 : 3, "ACC");
        rows[i].row.is_base = !i;
    }
    metric m = {"ACC", NULL, 1, sum_of(&rows[0].results[0])};
    comparison_task t = {.metric = &m, .rows = list, .n = N, .base = 0, .bases = bases, .trials = 200};
    size_t best = 0, tests = compare_rows(&t, out, &best);
    CHECK_INT(tests, 4);
    CHECK_INT(best, N); /* no row is best, since each base has its own rows */
    CHECK(isnan(out[0].delta) && isnan(out[3].delta));
    CHECK(out[4].delta < 15 && out[4].delta > -5);
    for (size_t i = 0; i < N; i++) {
        if (bases[i] == i) continue;
        comparison two[2];
        comparison_task of = {
            .metric = &m, .rows = (const read_row *[]){list[bases[i]], list[i]}, .n = 2, .trials = 200};
        compare_rows(&of, two, NULL);
        alone = two[1];
        CHECK_NEAR(out[i].delta, alone.delta, 1e-12);
        CHECK_NEAR(out[i].low, alone.low, 1e-12);
        CHECK_NEAR(out[i].high, alone.high, 1e-12);
        CHECK_NEAR(out[i].p, alone.p, 1e-12);
        CHECK(out[i].p_adjusted >= alone.p_adjusted);
    }
}

/* Variances are shared among the rows of one base: the first base's five rows are enough, the second base's two are
 * not. */
static void check_shared_by_base(void)
{
    static const size_t bases[MOST_ROWS] = {0, 0, 0, 0, 0, 0, 6, 6};
    comparison out[MOST_ROWS];
    for (size_t i = 0; i < MOST_ROWS; i++) make(i, 3, i < 6 ? 50 : 80, i < 6 ? 1 : 5, "ACC");
    comparison before = compare(6, 1, NULL);
    metric m = {"ACC", NULL, 1, sum_of(&rows[0].results[0])};
    comparison_task t = {.metric = &m, .rows = list, .n = MOST_ROWS, .base = 0, .bases = bases, .trials = 200};
    compare_rows(&t, out, NULL);
    CHECK(out[1].shared && !out[7].shared);
    CHECK_NEAR(out[1].p, before.p, 1e-12);
    CHECK_NEAR(out[1].v, before.v, 1e-12);
    CHECK(out[7].df <= 4);
}

/* A search whose candidates were close widens the interval; a search with a clear winner does not. */
static void check_searched(void)
{
    static const double clear[] = {0, 9, 9, INFINITY};
    double near[] = {0, 0, 9}; /* the second candidate is one standard deviation worse than the best */
    make(0, 5, 2, 0.1, "PPL"), make(1, 5, 2, 0.1, "PPL");
    comparison fixed = compare(2, 1, NULL);
    CHECK_NEAR(fixed.choice, 0, 0);
    rows[1].row.behind = clear, rows[1].row.n_candidates = 4;
    CHECK_NEAR(compare(2, 1, NULL).p, fixed.p, 1e-9);
    double sd = sqrt(fixed.planned_row.s2), p_other = normal_tail(sqrt(0.5));
    near[1] = sd, rows[1].row.behind = near, rows[1].row.n_candidates = 3;
    comparison searched = compare(2, 1, NULL);
    CHECK_NEAR(searched.choice, sd * sd * p_other * (1 - p_other), 1e-10 * sd * sd);
    CHECK(searched.low < fixed.low && searched.high > fixed.high && searched.p > fixed.p);
    CHECK(comparison_detectable(&searched) > comparison_detectable(&fixed));
    const read_result ppl[5] = {rows[1].results[0], rows[1].results[1], rows[1].results[2], rows[1].results[3],
                                rows[1].results[4]};
    make(0, 5, 50, 1, "ACC"), make(1, 5, 50, 1, "ACC");
    /* in another metric, the second candidate is equally many standard deviations worse */
    for (size_t s = 0; s < 5; s++) {
        static read_result both[5][2];
        both[s][0] = rows[1].results[s], both[s][1] = ppl[s];
        rows[1].runs[s].results = both[s], rows[1].runs[s].n_results = 2;
    }
    rows[1].row.behind = near, rows[1].row.n_candidates = 3;
    searched = compare(2, 1, NULL);
    double s2 = searched.planned_row.s2;
    CHECK_NEAR(searched.choice, s2 * p_other * (1 - p_other), 1e-9 * s2);
}

int main(void)
{
    char folder[] = "/tmp/ablate-compare-XXXXXX", command[128];
    if (!mkdtemp(folder)) return 1;
    check_recorded(folder, false);
    check_recorded(folder, true);
    check_by_seeds();
    check_shared();
    check_bases();
    check_shared_by_base();
    check_refused();
    check_left_out();
    check_searched();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) puts("could not clean up");
    return test_end();
}
