#include "lab/report/compare.h"
#include "lab/report/row_runs.h"
#include "text/metric/stats.h"
#include "lab/statistics/variances.h"
#include "base/cleanup.h"
#include <math.h>
#include <string.h>

const comparison comparison_none = {.delta = NAN,
                                    .low = NAN,
                                    .high = NAN,
                                    .p = NAN,
                                    .p_adjusted = NAN,
                                    .p_equivalent = NAN,
                                    .v = NAN,
                                    .u = NAN,
                                    .df = NAN,
                                    .seed_sd = NAN,
                                    .detectable = NAN,
                                    .p_models = NAN,
                                    .p_outside = NAN,
                                    .p_permutation = NAN,
                                    .stream_level = NAN,
                                    .beats = {NAN, NAN, NAN}};

double comparison_shown(const comparison *c, double d) { return c->percent ? 100 * expm1(d) : d; }

const char *comparison_rule(const comparison *c)
{
    if (c->crossed) return c->shared ? "crossed components, shared variances" : "crossed components";
    return c->shared ? "seeds only, shared variances" : "seeds only";
}

/* ---- two rows ---- */

/* Perplexities per token are comparable only over the same tokens. Column 2 of the statistics counts tokens. */
static bool same_tokens(const row_runs *a, const row_runs *b)
{
    const db_stats *x = &a->results[0]->stats, *y = &b->results[0]->stats;
    if (x->n != y->n || x->width != 2 || y->width != 2) return true;
    for (size_t j = 0; j < x->n; j++)
        if (x->value[2 * j + 1] != y->value[2 * j + 1]) return false;
    return true;
}

static const char tokens_unknown[] = "the record left out the statistics that show whether row and base have equal "
                                     "tokens (`ablate record --statistics`)";

static const char *why_refused(const metric *m, const row_runs *row, const row_runs *base)
{
    if (!same_references(row->references[0], base->references[0])) return "the row's references differ from base's";
    if (metric_in_percent(m) && (row->left_out || base->left_out)) return tokens_unknown;
    if (metric_in_percent(m) && !same_tokens(row, base))
        return "the row's tokens differ from base's, so perplexities per token are not comparable";
    return NULL;
}

/* Runs the test over sentences on the common seeds of both rows. */
static double models_p(const read_row *a, const read_row *b, const char *metric, int trials)
{
    AUTOFREE result_pair *pairs = xcalloc(a->n_runs * b->n_runs + 1, sizeof *pairs);
    size_t n = 0;
    for (size_t i = 0; i < a->n_runs; i++)
        for (size_t j = 0; j < b->n_runs; j++) {
            const read_run *ra = &a->runs[i], *rb = &b->runs[j];
            if (ra->seed != rb->seed || ra->status != DB_DONE || rb->status != DB_DONE) continue;
            const read_result *x = read_result_of(ra, metric), *y = read_result_of(rb, metric);
            if (x && y && isfinite(x->value) && isfinite(y->value))
                pairs[n++] = (result_pair){x, y, ra->references, rb->references};
        }
    return paired_p(pairs, n, trials);
}

/* Compares two rows; sentences are included if both rows have statistics of the same sentences. */
static difference compare_arms(const row_runs *row, const row_runs *base, double most_df, bool *crossed)
{
    arm a = row->arm, b = base->arm;
    *crossed = a.m && b.m && a.n > 1 && b.n > 1 && row_runs_same_sentences(row, base);
    if (!*crossed) a.m = b.m = 0;
    return design_compare(&a, &b, most_df);
}

enum { RANKED_SEEDS = 5 };

/* NaN without the statistics: the deviation would include the noise of the test set. */
static double seed_sd_of(const row_runs *r) { return r->left_out ? NAN : arm_seed_sd(&r->arm); }

static comparison compare_two(const comparison_task *t, const row_runs *row, const row_runs *base, double most_df)
{
    comparison c = comparison_none;
    double sign = metric_better(t->metric, 1, 0) < 0 ? -1 : 1;
    size_t least = row->n < base->n ? row->n : base->n;
    c.failed = row->n_all - row->n, c.failed_base = base->n_all - base->n, c.late_base = base->late;
    c.n = row->n, c.n_base = base->n, c.percent = metric_in_percent(t->metric);
    c.seed_sd = seed_sd_of(row), c.left_out = row->left_out || base->left_out;
    if (!least) return c;
    if ((c.refused = why_refused(t->metric, row, base))) {
        c.left_out = c.refused == tokens_unknown;
        return c;
    }
    difference x = compare_arms(row, base, most_df, &c.crossed);
    c.delta = comparison_shown(&c, x.d);
    if (row->n == 1 && base->n >= 3 && !c.left_out) c.p_outside = predict_one(&base->arm, row->arm.mean).p;
    if (least >= RANKED_SEEDS) c.beats = superiority_of(row->values, row->n_all, base->values, base->n_all, sign);
    if (c.failed || c.failed_base || least < 2) return c;
    if (least >= RANKED_SEEDS) c.p_permutation = permutation_p(row->values, row->n, base->values, base->n);
    if (c.left_out) return c;
    if (t->margin > 0) {
        double margin = c.percent ? log1p(t->margin / 100) : t->margin;
        c.p_equivalent = margin_p(margin - (t->one_sided ? -sign * x.d : fabs(x.d)), x.v, x.df, x.u, x.choice);
    }
    c.low = comparison_shown(&c, x.low), c.high = comparison_shown(&c, x.high);
    c.p = x.p, c.v = x.v, c.u = x.u, c.df = x.df, c.choice = x.choice;
    c.planned_row = row->arm, c.planned_base = base->arm, c.most_df = most_df;
    c.planned_row.z = c.planned_base.z = NULL;
    return c;
}

/* ---- a table ---- */

/* Returns the index of the earlier row that row i repeats, else i. */
static size_t first_of(const comparison_task *t, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (t->rows[k]->runs == t->rows[i]->runs) return k;
    return i;
}

/* Returns the row that row i is compared with; n: none. */
static size_t base_of(const comparison_task *t, size_t i) { return t->bases ? t->bases[i] : t->base; }

/* Shrinks the variances of rows with this base and three seeds or more, if there are five such rows. Base keeps its own
 * variance, because too small a variance of base would reject all rows. Returns the limit of the degrees of freedom. */
static double share(const comparison_task *t, size_t base, row_runs *runs, bool *shared)
{
    AUTOFREE double *s2 = xcalloc(3 * t->n + 1, sizeof *s2);
    double *df = s2 + t->n, *shrunk = df + t->n, most = INFINITY;
    size_t rows = 0, seeds = base < t->n ? runs[base].n : 0;
    for (size_t i = 0; i < t->n; i++) {
        bool of_base = base < t->n && t->rows[i]->runs == t->rows[base]->runs;
        bool takes_part =
            base_of(t, i) == base && !of_base && first_of(t, i) == i && runs[i].n >= SHARE_SEEDS && runs[i].arm.s2 > 0;
        s2[i] = takes_part ? runs[i].arm.s2 : NAN, df[i] = takes_part ? runs[i].arm.df : 0;
        rows += takes_part;
    }
    if (rows >= SHARE_ROWS) {
        shared_prior prior = share_variances(s2, df, t->n, seeds, shrunk, NULL);
        most = prior.pool_df;
        for (size_t i = 0; i < t->n; i++) {
            arm *a = &runs[i].arm;
            shared[i] = df[i] > 0 && !isnan(s2[i]);
            if (!shared[i]) continue;
            shared_prior own = calibrated_prior(prior, a->df, seeds);
            if (df[i] > a->df) a->expected_s2 = shrunk[i], a->prior_df = own.prior_df, a->prior_s2 = own.prior_s2;
            a->s2 = s2[i], a->df = df[i];
        }
    }
    return most;
}

/* Adjusts one kind of p over the rows after Holm: `at` finds p in a comparison. A row shown twice is one test. */
static size_t adjust(const comparison_task *t, comparison *out, double *(*at)(comparison *))
{
    AUTOFREE double *p = xcalloc(t->n + 1, sizeof *p);
    for (size_t i = 0; i < t->n; i++) p[i] = first_of(t, i) == i ? *at(&out[i]) : NAN;
    size_t tests = stats_holm(p, t->n);
    for (size_t i = 0; i < t->n; i++) *at(&out[i]) = p[first_of(t, i)];
    return tests;
}

static double *adjusted_of(comparison *c) { return &c->p_adjusted; }
static double *equivalent_of(comparison *c) { return &c->p_equivalent; }
static double *models_of(comparison *c) { return &c->p_models; }

static size_t find_best(const comparison_task *t, const row_runs *runs, double most_df)
{
    size_t best = t->n, others = 0;
    bool crossed;
    for (size_t i = 0; i < t->n; i++) {
        if (first_of(t, i) != i) continue;
        others++;
        if ((runs[i].n && runs[i].n < runs[i].n_all) || runs[i].left_out)
            return t->n; /* the remaining runs of a row with failures are a selection */
        if (runs[i].n && (best == t->n || metric_better(t->metric, runs[i].arm.mean, runs[best].arm.mean) > 0))
            best = i;
    }
    if (best == t->n || !t->metric->direction || others < 2 || runs[best].n < SHARE_SEEDS)
        return t->n; /* two seeds cannot decide */
    for (size_t i = 0; i < t->n; i++) {
        if (first_of(t, i) != i || i == best || !runs[i].n) continue;
        if (runs[i].n < SHARE_SEEDS || why_refused(t->metric, &runs[best], &runs[i])) return t->n;
        double p = compare_arms(&runs[best], &runs[i], most_df, &crossed).p;
        if (!(p * (double)(others - 1) < 0.05)) return t->n;
    }
    return best;
}

/* Intersects the interval so far with this look's, computed at the level of its p. False: they are disjoint; the looks
 * before contradict this one, and its own interval counts. */
static bool narrow(comparison *out, const comparison *now, size_t look)
{
    double d = now->percent ? log1p(now->delta / 100) : now->delta;
    double half = howe_half_width(now->v, now->df, now->u, now->choice, 0.05 * look_weights[look]);
    double low = comparison_shown(now, d - half), high = comparison_shown(now, d + half);
    if (!(out->low >= low)) out->low = low;
    if (!(out->high <= high)) out->high = high;
    if (out->low <= out->high) return true;
    out->low = low, out->high = high;
    return false;
}

/* Computes p and interval of each row over its looks: with the first 3, 5, 10, 20 seeds of each side. */
static void repeat_looks(const comparison_task *t, comparison *out)
{
    AUTOFREE double(*p)[N_LOOKS] = xcalloc(2 * t->n + 1, sizeof *p);
    double(*equivalent)[N_LOOKS] = p + t->n;
    for (size_t i = 0; i < t->n; i++)
        if (!isnan(out[i].p)) out[i].low = out[i].high = NAN;
    AUTOFREE comparison *now = xcalloc(t->n + 1, sizeof *now);
    for (size_t k = 0; k < N_LOOKS; k++) {
        comparison_task look = *t;
        look.sequential = false, look.trials = 0, look.most_seeds = look_seeds[k];
        compare_rows(&look, now, NULL);
        for (size_t i = 0; i < t->n; i++) {
            size_t base = t->base_seeds > look_seeds[k] ? t->base_seeds : look_seeds[k];
            bool looked = now[i].n == look_seeds[k] && now[i].n_base == base && !isnan(out[i].p);
            p[i][k] = looked ? now[i].p : NAN, equivalent[i][k] = looked ? now[i].p_equivalent_alone : NAN;
            if (isnan(p[i][k]) || narrow(&out[i], &now[i], k)) continue;
            for (size_t before = 0; before < k; before++) p[i][before] = equivalent[i][before] = NAN;
        }
    }
    for (size_t i = 0; i < t->n; i++) {
        if (isnan(out[i].p)) continue;
        out[i].p = repeated_p(p[i], N_LOOKS), out[i].repeated = true;
        if (t->margin > 0) out[i].p_equivalent = repeated_p(equivalent[i], N_LOOKS);
    }
}

double comparison_detectable(const comparison *c)
{
    if (isnan(c->p)) return NAN;
    return comparison_shown(c, least_detectable(&c->planned_row, &c->planned_base, c->u, c->most_df, 0.05, 0.8));
}

const char *comparison_verdict(const comparison *c, const comparison_criterion *k, const metric *m)
{
    if (isnan(c->p) || c->n < k->seeds || c->n_base < k->seeds || !m->direction) return NULL;
    if (c->exploratory) return "exploratory";
    bool better = metric_better(m, c->delta, 0) > 0, differs = c->p_adjusted <= k->level;
    if (k->one_sided && better && differs) return "better";
    if (c->p_equivalent <= k->level) return k->one_sided ? "not worse" : "equivalent";
    return !differs ? "undecided" : better ? "better" : "worse";
}

size_t compare_rows(const comparison_task *t, comparison *out, size_t *best)
{
    AUTOFREE row_runs *runs = xcalloc(t->n + 1, sizeof *runs);
    AUTOFREE bool *shared = xcalloc(t->n + 1, sizeof *shared);
    AUTOFREE double *most_df = xcalloc(t->n + 1, sizeof *most_df); /* [base] */
    for (size_t i = 0; i < t->n; i++) runs[i] = row_runs_collect(t, t->rows[i], base_of(t, i) == i);
    for (size_t b = 0; b <= t->n; b++)
        if (b == t->n || base_of(t, b) == b) most_df[b] = share(t, b, runs, shared);
    for (size_t i = 0; i < t->n; i++) row_runs_add_choice(t, t->rows[i], &runs[i]);
    for (size_t i = 0; i < t->n; i++) {
        size_t first = first_of(t, i), base = base_of(t, i);
        out[i] = comparison_none;
        out[i].n = runs[i].n, out[i].seed_sd = seed_sd_of(&runs[i]), out[i].percent = metric_in_percent(t->metric);
        if (first < i)
            out[i] = out[first];
        else if (base < t->n && t->rows[i]->runs != t->rows[base]->runs) {
            out[i] = compare_two(t, &runs[i], &runs[base], most_df[base]);
            out[i].shared = shared[i];
            out[i].exploratory = t->rows[i]->exploratory || t->rows[base]->exploratory;
            bool few = runs[i].n < 2 || runs[base].n < 2;
            if (!out[i].refused && (few || t->all_model_tests) && t->trials > 0)
                out[i].p_models = models_p(t->rows[i], t->rows[base], t->metric->name, t->trials);
        }
    }
    if (best) *best = t->bases ? t->n : find_best(t, runs, most_df[t->base]);
    for (size_t i = 0; i < t->n; i++) row_runs_free(&runs[i]);
    if (t->sequential) repeat_looks(t, out);
    for (size_t i = 0; i < t->n; i++) {
        out[i].p_adjusted = out[i].exploratory ? NAN : out[i].p, out[i].p_equivalent_alone = out[i].p_equivalent;
        if (out[i].exploratory) out[i].p_equivalent = NAN;
    }
    adjust(t, out, models_of);
    adjust(t, out, equivalent_of);
    return adjust(t, out, adjusted_of);
}

difference contrast_rows(const comparison_task *t, const double *weights)
{
    AUTOFREE row_runs *runs = xcalloc(t->n + 1, sizeof *runs);
    AUTOFREE arm *arms = xcalloc(t->n + 1, sizeof *arms);
    AUTOFREE double *w = xcalloc(t->n + 1, sizeof *w);
    size_t n = 0, first = t->n;
    bool crossed = true, failed = false;
    for (size_t i = 0; i < t->n; i++) {
        if (weights[i] == 0) continue;
        runs[i] = row_runs_collect(t, t->rows[i], t->rows[i]->is_base);
        row_runs_add_choice(t, t->rows[i], &runs[i]);
        failed = failed || runs[i].n < runs[i].n_all || runs[i].left_out;
        if (first == t->n) first = i;
        crossed = crossed && runs[i].n && runs[first].n && runs[i].arm.m && runs[first].arm.m &&
                  row_runs_same_sentences(&runs[i], &runs[first]);
        arms[n] = runs[i].arm, w[n++] = weights[i];
    }
    for (size_t k = 0; k < n && !crossed; k++) arms[k].m = 0;
    difference x = design_contrast(arms, w, n);
    if (failed) x.low = x.high = x.p = NAN;
    for (size_t i = 0; i < t->n; i++) row_runs_free(&runs[i]);
    return x;
}

/* ---- seeds dealt into groups ---- */

/* Makes the runs order[0..n) of the row a separate row; z: [runs][m] of all runs, or NULL. */
static arm dealt(const row_runs *r, const double *z, const int64_t *order, size_t n, bool log_scale)
{
    size_t m = z ? r->arm.m : 0;
    AUTOFREE double *scores = xcalloc(n + 1, sizeof *scores), *own = xcalloc(n * m + 1, sizeof *own);
    for (size_t i = 0; i < n; i++) {
        scores[i] = log_scale ? log(r->values[order[i]]) : r->values[order[i]];
        if (m) memcpy(own + i * m, z + (size_t)order[i] * m, m * sizeof *own);
    }
    arm a = arm_measure(scores, m ? own : NULL, n, m);
    a.widening = r->arm.widening;
    return a;
}

/* Deals the numbers 0 .. n-1 into a random order. */
static void deal(int64_t *order, size_t n, rng *r)
{
    for (size_t i = 0; i < n; i++) order[i] = (int64_t)i;
    rng_shuffle(r, order, n);
}

double dealt_rejections(const read_row *a, const read_row *b, const metric *m, size_t n, size_t deals, double level,
                        uint64_t seed)
{
    bool one = a->runs == b->runs, log_scale = metric_in_percent(m);
    comparison_task t = {.metric = m};
    CLEANUP(row_runs_free) row_runs x = row_runs_collect(&t, a, false), y = row_runs_collect(&t, b, false);
    if (n < 2 || x.left_out || y.left_out || x.n < (one ? 2 * n : n) || y.n < n) return NAN;
    size_t rejected = 0;
    AUTOFREE int64_t *order = xcalloc(x.n + y.n + 1, sizeof *order);
    int64_t *other = order + x.n;
    bool crossed = x.arm.m && y.arm.m && row_runs_same_sentences(&x, &y);
    AUTOFREE double *zx = crossed ? row_runs_influences(&x) : NULL, *zy = crossed ? row_runs_influences(&y) : NULL;
    rng r = rng_seed(seed, 11);
    for (size_t i = 0; i < deals; i++) {
        deal(order, x.n, &r);
        if (!one) deal(other, y.n, &r);
        CLEANUP(arm_free) arm first = dealt(&x, zx, order, n, log_scale);
        CLEANUP(arm_free)
        arm second = one ? dealt(&x, zx, order + n, n, log_scale) : dealt(&y, zy, other, n, log_scale);
        rejected += design_compare(&first, &second, INFINITY).p <= level;
    }
    return (double)rejected / (double)deals;
}
