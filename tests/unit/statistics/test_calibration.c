/* Do the tests keep their promises? Simulated scores with the variances of recorded runs. Comparisons of a row with
 * itself (A/A) are rejected as often as allowed, intervals cover, planted differences are found as often as planning
 * says.
 *
 * A seed's score varies by sd_seed. Each model deviates on each sentence: the recorded 11.3 BLEU over 1,000 sentences
 * become 100 sentences with a tenth of that variance. Two designs may also differ by sentence. ABLATE_TEST_LONG
 * simulates several times as much, over more scenes. */
#include "test.h"
#include "base/distribution.h"
#include "lab/statistics/design.h"
#include "text/metric/documents.h"
#include "text/metric/influence.h"
#include "text/metric/stats.h"
#include "lab/statistics/variances.h"
#include <stdlib.h>

enum { SENTENCES = 100, MOST_SEEDS = 20, ROWS = 20 };
static const double model_by_sentence = 11.3 * 0.316227766; /* sqrt(100 / 1000) */

typedef struct {
    const char *name;
    double sd_row, sd_base;    /* over seeds */
    double design_by_sentence; /* standard deviation over sentences of the designs' difference, for 100 sentences */
} scene;

static const scene scenes[] = {{"alike", 0.4, 0.4, 0},
                               {"designs differ by sentence", 0.4, 0.4, 2.53},
                               {"unequal spread", 0.9, 0.2, 1.26},
                               {"sentences dominate", 0.1, 0.1, 2.53}};

static bool whole(void) { return test_long(); }

/* Makes a row of n seeds with mean `mean`; shift [SENTENCES]: the design's effect on each sentence, or NULL: no
 * effect. */
static arm simulate(rng *r, size_t n, double mean, double sd, const double *shift)
{
    static double z[MOST_SEEDS * SENTENCES];
    double scores[MOST_SEEDS];
    for (size_t s = 0; s < n; s++) {
        double *of = z + s * SENTENCES, sum = 0;
        for (size_t j = 0; j < SENTENCES; j++) {
            of[j] = model_by_sentence * rng_normal(r) + (shift ? shift[j] : 0);
            sum += of[j];
        }
        for (size_t j = 0; j < SENTENCES; j++) of[j] -= sum / SENTENCES;
        scores[s] = mean + sd * rng_normal(r) + sum / SENTENCES;
    }
    return arm_measure(scores, z, n, SENTENCES);
}

static difference compare(rng *r, const scene *x, size_t n, double effect)
{
    double shift[SENTENCES];
    for (size_t j = 0; j < SENTENCES; j++) shift[j] = x->design_by_sentence * rng_normal(r);
    arm row = simulate(r, n, effect, x->sd_row, shift), base = simulate(r, n, 0, x->sd_base, NULL);
    difference d = design_compare(&row, &base, INFINITY);
    arm_free(&row);
    arm_free(&base);
    return d;
}

/* Three standard deviations of a share of `trials`. */
static double allowed(double share, size_t trials) { return 3 * sqrt(share * (1 - share) / (double)trials); }

static void check_alike(const scene *x, size_t n, size_t trials, rng *r)
{
    size_t rejected = 0, strictly = 0, covered = 0;
    for (size_t i = 0; i < trials; i++) {
        difference d = compare(r, x, n, 0);
        rejected += d.p <= 0.05;
        strictly += d.p <= 0.0025;
        covered += d.low <= 0 && 0 <= d.high;
        if ((d.p <= 0.05) == (d.low <= 0 && 0 <= d.high)) CHECK_NEAR(d.p, 0.05, 1e-9); /* p and interval agree */
    }
    double share = (double)rejected / (double)trials;
    printf("%-28s n %2zu: %.1f %% rejected at 5 %%, %.2f %% at 0.25 %%, covered %.1f %%\n", x->name, n, 100 * share,
           100 * (double)strictly / (double)trials, 100 * (double)covered / (double)trials);
    CHECK(share <= 0.05 + fmax(0.02, allowed(0.05, trials)));
    if (n >= 5) CHECK(share >= 0.03 - allowed(0.03, trials));
    CHECK((double)covered / (double)trials >= 0.93 - allowed(0.05, trials) / 3);
    CHECK((double)strictly / (double)trials <= 0.0025 + fmax(0.0015, allowed(0.0025, trials)));
}

/* A planted difference is found about as often as power_of computes from the true standard deviations. */
static void check_planted(size_t n, double effect, size_t trials, rng *r)
{
    const scene *x = &scenes[0];
    double noise = model_by_sentence * model_by_sentence / SENTENCES, sd = sqrt(0.16 + noise);
    double promised = power_of(effect, sd, sd, n, n, 0, 0.05);
    size_t found = 0, wrong_way = 0;
    for (size_t i = 0; i < trials; i++) {
        difference d = compare(r, x, n, effect);
        found += d.p <= 0.05;
        wrong_way += d.p <= 0.05 && d.d < 0;
    }
    printf("planted %.1f, n %2zu: found %.1f %%, promised %.1f %%\n", effect, n, 100 * (double)found / (double)trials,
           100 * promised);
    CHECK_NEAR((double)found / (double)trials, promised, 0.06 + allowed(0.5, trials) / 3);
    CHECK(wrong_way <= trials / 200);
}

/* ---- tables ---- */

/* Makes scores by seed: `rows` rows and, as last, base, whose standard deviation is `base_sd` times the rows'. */
static void simulate_table(rng *r, size_t n, size_t rows, double base_sd, double effect, arm *out, shared_prior *prior)
{
    double s2[ROWS], df[ROWS], scores[MOST_SEEDS];
    for (size_t i = 0; i <= rows; i++) {
        for (size_t s = 0; s < n; s++) scores[s] = (i < rows ? effect : 0) + (i < rows ? 1 : base_sd) * rng_normal(r);
        out[i] = arm_measure(scores, NULL, n, 0);
        if (i < rows) s2[i] = out[i].s2, df[i] = out[i].df;
    }
    *prior = share_variances(s2, df, rows, n, NULL, NULL);
    for (size_t i = 0; i < rows; i++) out[i].s2 = s2[i], out[i].df = df[i];
}

/* All rows equal base: how often does Holm with shared variances reject any? */
static void check_family(size_t n, size_t rows, double base_sd, size_t tables, rng *r)
{
    size_t any = 0;
    for (size_t t = 0; t < tables; t++) {
        arm of[ROWS + 1];
        double p[ROWS];
        shared_prior prior;
        simulate_table(r, n, rows, base_sd, 0, of, &prior);
        for (size_t i = 0; i < rows; i++) p[i] = design_compare(&of[i], &of[rows], prior.pool_df).p;
        stats_holm(p, rows);
        bool rejected = false;
        for (size_t i = 0; i < rows; i++) rejected = rejected || p[i] <= 0.05;
        any += rejected;
    }
    double share = (double)any / (double)tables;
    printf("%zu rows, n %zu, base's sd %g times theirs, shared variances, Holm: any false %.1f %%\n", rows, n, base_sd,
           100 * share);
    CHECK(share <= 0.055);
}

/* A difference that the table calls detectable is found four times in five. rows = 1: variances are not shared. */
static void check_detectable(size_t n, size_t rows, double level, size_t tables, rng *r)
{
    arm row = arm_planned(n, 1), base = row;
    double most_df = INFINITY;
    size_t found = 0;
    if (rows > 1) row.prior_df = INFINITY, row.prior_s2 = 1, most_df = (double)(rows * (n - 1));
    double effect = least_detectable(&row, &base, 0, most_df, level, 0.8);
    for (size_t t = 0; t < tables; t++) {
        arm of[ROWS + 1];
        shared_prior prior;
        simulate_table(r, n, rows, 1, effect, of, &prior);
        for (size_t i = 0; i < rows; i++) found += design_compare(&of[i], &of[rows], prior.pool_df).p <= level;
    }
    double share = (double)found / (double)(tables * rows);
    printf("%zu rows, n %zu, level %.4f: %.2f is found %.1f %%, 80 %% promised\n", rows, n, level, effect, 100 * share);
    /* with three seeds at Holm's first step planning is too optimistic: it takes the estimated prior as known */
    CHECK(share >= (n < 5 && level < 0.05 ? 0.76 : 0.78) && share <= 0.84);
}

static void check_tables(rng *r)
{
    static const size_t seeds[] = {3, 5, 10};
    size_t tables = whole() ? 3000 : 1500;
    check_family(3, ROWS, 3, tables, r);
    check_family(3, 8, 3, tables, r);
    check_detectable(3, 8, 0.05, tables, r);
    for (size_t k = 0; k < LENGTH(seeds) && whole(); k++) {
        check_family(seeds[k], ROWS, 1, tables, r);
        check_family(seeds[k], ROWS, 3, tables, r);
        check_detectable(seeds[k], ROWS, 0.05, tables, r);
        check_detectable(seeds[k], ROWS, 0.05 / ROWS, tables, r);
        check_detectable(seeds[k], 1, 0.05, tables, r);
    }
}

/* ---- documents ---- */

enum { DOCUMENTS = 25, PAIRS = 205 };

static size_t length_of(size_t document) { return 1 + document * 7 % 15; } /* 1 to 15 sentences */

/* Makes a row of five seeds. A sentence's score is 0.5 plus effects of its seed, its document (by_document: the
 * design's effect there) and the model. counts: sums statistics by document; NULL: does not. */
static arm simulate_documents(rng *r, const double by_seed[5], const double *by_document, const char *counts)
{
    static double z[5 * PAIRS];
    double rows[2 * PAIRS], sums[2 * PAIRS], scores[5];
    size_t m = 0;
    for (size_t s = 0; s < 5; s++) {
        m = 0;
        for (size_t k = 0; k < DOCUMENTS; k++)
            for (size_t j = 0; j < length_of(k); j++, m++) {
                rows[2 * m] = 0.5 + by_seed[s] + (by_document ? by_document[k] : 0) + 0.05 * rng_normal(r);
                rows[2 * m + 1] = 1;
            }
        if (counts) m = documents_sum(counts, rows, m, 2, sums);
        scores[s] = influence_ratio(counts ? sums : rows, m, NULL, z + s * m);
    }
    arm a = arm_measure(scores, z, 5, m);
    if (counts) a.widening = documents_widening(m);
    return a;
}

/* Compares two designs that differ by document, but not on average. */
static difference compare_documents(rng *r, const double by_seed[10], const char *counts)
{
    double by_document[DOCUMENTS];
    for (size_t k = 0; k < DOCUMENTS; k++) by_document[k] = 0.05 * rng_normal(r);
    arm row = simulate_documents(r, by_seed, by_document, counts);
    arm base = simulate_documents(r, by_seed + 5, NULL, counts);
    difference d = design_compare(&row, &base, INFINITY);
    arm_free(&row);
    arm_free(&base);
    return d;
}

/* A/A: returns the share of comparisons that find a difference, and the share of models whose effects on two disjoint
 * sets of documents differ more than the variance over documents allows. */
static void check_documents(bool summed, size_t trials, rng *r, double *rejected, double *apart)
{
    size_t different = 0, disjoint = 0;
    str counts = {0};
    for (size_t k = 0; k < DOCUMENTS; k++) str_addf(&counts, "%s%zu", k ? " " : "", length_of(k));
    for (size_t i = 0; i < trials; i++) {
        double by_seed[10];
        for (size_t k = 0; k < LENGTH(by_seed); k++) by_seed[k] = 0.004 * rng_normal(r);
        difference a = compare_documents(r, by_seed, summed ? str_text(&counts) : NULL),
                   b = compare_documents(r, by_seed, summed ? str_text(&counts) : NULL);
        different += a.p <= 0.05;
        disjoint += fabs(a.d - b.d) > normal_upper(0.025) * sqrt(a.u + b.u);
    }
    str_free(&counts);
    *rejected = (double)different / (double)trials, *apart = (double)disjoint / (double)trials;
    printf("%d documents of 1 to 15 sentences, counting %s: %.1f %% rejected, %.1f %% of disjoint sets apart\n",
           DOCUMENTS, summed ? "documents" : "sentences", 100 * *rejected, 100 * *apart);
}

/* Looks at 3, 5, 10 and 20 seeds with the repeated p: how often is a row that equals base ever rejected? */
static void check_sequential(size_t trials, rng *r, double effect, double *rejected, double *seeds)
{
    size_t count = 0, used = 0;
    for (size_t i = 0; i < trials; i++) {
        double a[MOST_SEEDS], b[MOST_SEEDS], p[N_LOOKS],
            sd = sqrt(0.16 + model_by_sentence * model_by_sentence / SENTENCES);
        for (size_t s = 0; s < MOST_SEEDS; s++) a[s] = effect + sd * rng_normal(r), b[s] = sd * rng_normal(r);
        for (size_t k = 0; k < N_LOOKS; k++) {
            arm x = arm_measure(a, NULL, look_seeds[k], 0), y = arm_measure(b, NULL, look_seeds[k], 0);
            p[k] = design_compare(&x, &y, INFINITY).p;
            bool stop = repeated_p(p, k + 1) <= 0.05;
            count += stop;
            if (!stop && k + 1 < N_LOOKS) continue;
            used += look_seeds[k];
            break;
        }
    }
    *rejected = (double)count / (double)trials, *seeds = (double)used / (double)trials;
    printf("looks at 3, 5, 10, 20 seeds, true difference %.1f: rejected %.1f %%, %.1f seeds on average\n", effect,
           100 * *rejected, *seeds);
}

int main(void)
{
    rng r = rng_seed(20251122, 0);
    size_t trials = whole() ? 2000 : 1000, scenes_done = whole() ? LENGTH(scenes) : 2;
    static const size_t seeds[] = {2, 3, 5, 10, 20};
    for (size_t i = 0; i < scenes_done; i++)
        for (size_t k = 0; k < (whole() ? LENGTH(seeds) : 3); k++) check_alike(&scenes[i], seeds[k], trials, &r);
    check_planted(5, 1.0, trials, &r);
    check_planted(10, 1.0, trials, &r);
    double seeds_used, rejected;
    check_tables(&r);
    double apart;
    check_documents(true, trials / 2, &r, &rejected, &apart);
    CHECK(rejected <= 0.06 && apart <= 0.06);
    check_documents(false, trials / 8, &r, &rejected, &apart);
    CHECK(rejected >= 0.2 && apart >= 0.2);
    check_sequential(whole() ? 8000 : 2000, &r, 0, &rejected, &seeds_used);
    CHECK(rejected <= 0.05 + allowed(0.05, 2000));
    check_sequential(whole() ? 8000 : 2000, &r, 1, &rejected, &seeds_used);
    CHECK(rejected >= 0.9 && seeds_used <= 12);
    return test_end();
}
