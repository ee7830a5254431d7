/* heads.c - reports what attention heads do and what pruning them costs, by head, by a row's seeds or by rows. */
#include "lab/study/heads.h"
#include "lab/study/predict.h"
#include "lab/statistics/design.h"
#include "base/distribution.h"
#include "lab/config/analysis.h"
#include "lab/report/grid.h"
#include "lab/results/read.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    measured_run *at;
    size_t n;
    arena memory;
    bool rows; /* all rows of an experiment, base first if it has one */
} measured;

/* ---- selecting runs ---- */

static void add_run(measured *all, const char *row, const char *base, const read_run *r)
{
    if (r->status != DB_DONE || r->recorded) return;
    all->at = xrealloc(all->at, (all->n + 1) * sizeof *all->at);
    all->at[all->n++] = (measured_run){.row = arena_strdup(&all->memory, row),
                                       .base = base ? arena_strdup(&all->memory, base) : NULL,
                                       .run = r->id,
                                       .seed = r->seed,
                                       .ppl = NAN};
}

/* Returns the row that a row is compared with: the first row of its condition, else base; NULL: none. */
static const char *base_of(const read_experiment *x, const analysis *rules, const char *row)
{
    for (size_t k = 0; k < rules->n_conditions; k++)
        for (size_t i = 0; i < rules->conditions[k].n; i++)
            if (same(rules->conditions[k].at[i], row)) return rules->conditions[k].at[0];
    for (size_t i = 0; i < x->n_rows; i++)
        if (x->rows[i].is_base) return x->rows[i].name;
    return NULL;
}

/* Adds all runs of an experiment, base's first. */
static void add_rows(measured *all, const read_experiment *x)
{
    CLEANUP(arena_free) arena a = {0};
    analysis rules = analysis_read(x->analysis, &a);
    for (int base = 1; base >= 0; base--)
        for (size_t i = 0; i < x->n_rows; i++) {
            const read_row *row = &x->rows[i];
            for (size_t k = 0; k < row->n_runs && row->is_base == base && !row->same_as; k++)
                add_run(all, row->name, base_of(x, &rules, row->name), &row->runs[k]);
        }
}

static int find_runs(const char *text, const places *p, measured *all, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(reader_end) reader *r = reader_open(&p->db, e);
    read_experiment x;
    int found = r ? reader_experiment(r, text, READ_VALUES, &a, &x, e) : -1;
    all->rows = !found;
    if (!found) add_rows(all, &x);
    int64_t *ids;
    size_t n = 0;
    int bad = found < 0 || (found > 0 && reader_find_runs(r, text, &a, &ids, &n, e)) ? -1 : 0;
    for (size_t i = 0; i < n && !bad; i++) {
        read_detail d;
        if (!(bad = reader_run(r, ids[i], &a, &d, e))) add_run(all, d.row, NULL, &d.run);
    }
    if (!bad && !all->n) bad = fail(e, "%s: found no finished run trained here", text);
    return bad;
}

char *heads_model_path(const places *p, const measured_run *r, bool quiet, err *e)
{
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)r->run);
    char *path = run_model_path(number, p, e);
    if (path && !quiet) fprintf(stderr, "run %s, %s, seed %lld\n", number, r->row, (long long)r->seed);
    return path;
}

static int measure(const heads_options *o, const places *p, bool quiet, measured *all, err *e)
{
    int bad = 0;
    for (size_t i = 0; i < all->n && !bad; i++) {
        AUTOFREE char *path = heads_model_path(p, &all->at[i], quiet, e);
        measure_options how = {o->sentences, !o->no_prune && !all->rows};
        bad = path ? heads_measure(path, p, &how, &all->at[i], e) : -1;
    }
    return bad;
}

/* ---- one run: its heads ---- */

static double both(const head_figures *h, enum head_role r)
{
    return 100 * (h->hits[r][0] + h->hits[r][1]) / (h->counted[r][0] + h->counted[r][1]);
}

void put_number(grid *g, size_t column, const char *format, double x)
{
    char text[64];
    snprintf(text, sizeof text, format, x);
    grid_set(g, column, "%s", isfinite(x) ? text : "");
}

static const char *const role_names[HEAD_ROLES] = {"previous token", "rarest token", "constituent"};

const char *source_name(weights_source s)
{
    static const char *const names[] = {"softmax", "by value", "by input"};
    return names[s];
}

static void notes(grid *g)
{
    grid_footnote(g, "previous token, rarest token, constituent: share of queries whose strongest weight goes to the "
                     "previous token, to the sentence's rarest token (by training count),");
    grid_footnote(g, "to another word of the smallest constituent around the word (gold trees). By chance: the share "
                     "for a random token; for constituents, the larger of this share and that of the");
    grid_footnote(g, "best fixed distance up to 3. Gradient: Frobenius norm of the softmax's Jacobian, mean over "
                     "queries. Entropy in bits.");
}

void footnote_sources(grid *g, const bool seen[FROM_ROWS + 1])
{
    if (seen[FROM_VALUES])
        grid_footnote(g, "Weights by value: %s, the derivative's norm for each key as a share of the sum over keys.",
                      influence_source(FROM_VALUES));
    if (seen[FROM_ROWS])
        grid_footnote(g, "Weights by input: %s, computed for the rows that the attention reads, as one head.",
                      influence_source(FROM_ROWS));
}

static void footnote_all_sources(grid *g, const measured *all)
{
    bool seen[FROM_ROWS + 1] = {false};
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->at[i].n; k++) seen[all->at[i].head[k].from] = true;
    footnote_sources(g, seen);
}

static void print_heads(const measured *all)
{
    const measured_run *r = &all->at[0];
    CLEANUP(grid_free) grid g = {0};
    static const char *const columns[] = {"attention",     "layer",   "head",     "previous token %", "rarest token %",
                                          "constituent %", "entropy", "gradient", "PPL without it",   "weights"};
    g.title = r->row;
    for (size_t i = 0; i < LENGTH(columns); i++) grid_column(&g, columns[i], i > 0);
    for (size_t i = 0; i < r->n; i++) {
        const head_figures *h = &r->head[i];
        grid_row(&g, i && !same(h->part, h[-1].part));
        grid_set(&g, 0, "%s", h->part);
        grid_set(&g, 1, "%lld", (long long)h->layer);
        grid_set(&g, 2, "%zu", h->head);
        for (int k = 0; k < HEAD_ROLES; k++) put_number(&g, 3 + (size_t)k, "%.1f", both(h, k));
        put_number(&g, 6, "%.2f", h->entropy);
        put_number(&g, 7, "%.3f", h->gradient);
        put_number(&g, 8, "%+.1f %%", 100 * (exp(h->cost) - 1));
        grid_set(&g, 9, "%s", source_name(h->from));
    }
    for (size_t i = 0; i < r->n; i++) {
        if (i && same(r->head[i].part, r->head[i - 1].part)) continue;
        grid_row(&g, !i);
        grid_set(&g, 0, "%s, by chance", r->head[i].part);
        for (int k = 0; k < HEAD_ROLES; k++) put_number(&g, 3 + (size_t)k, "%.1f", 100 * r->head[i].chance[k]);
    }
    notes(&g);
    footnote_all_sources(&g, all);
    print_grid(&g);
}

/* ---- the seeds of a row: its roles ---- */

spread spread_of(const double *x, size_t n)
{
    spread s = {.n = n, .sd = NAN, .low = NAN, .high = NAN, .p = NAN};
    for (size_t i = 0; i < n; i++) s.mean += x[i] / (double)n;
    if (n < 2) return s;
    double squares = 0, df = (double)n - 1;
    for (size_t i = 0; i < n; i++) squares += (x[i] - s.mean) * (x[i] - s.mean);
    s.sd = sqrt(squares / df);
    double error = s.sd / sqrt((double)n), half = t_upper(0.025, df) * error;
    s.low = s.mean - half, s.high = s.mean + half, s.p = 2 * t_tail(fabs(s.mean) / error, df);
    return s;
}

/* Finds the head of the part that best fits the role in even sentences; NULL: no counted queries. */
static const head_figures *best_head(const measured_run *r, const char *part, enum head_role role)
{
    const head_figures *best = NULL;
    for (size_t i = 0; i < r->n; i++)
        if (same(r->head[i].part, part) && r->head[i].counted[role][0] > 0 && r->head[i].counted[role][1] > 0 &&
            (!best || head_share(&r->head[i], role, 0) > head_share(best, role, 0)))
            best = &r->head[i];
    return best;
}

/* Returns the cost of pruning the head, minus the mean over the part's other heads. */
static double extra_cost(const measured_run *r, const head_figures *h)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (same(r->head[i].part, h->part) && &r->head[i] != h) sum += r->head[i].cost, n++;
    return h->cost - sum / n;
}

static void write_percent(grid *g, size_t column, double log_ratio)
{
    put_number(g, column, "%+.1f %%", 100 * (exp(log_ratio) - 1));
}

static void role_line(grid *g, const measured *all, const char *part, enum head_role role)
{
    AUTOFREE double *share = xcalloc(4 * all->n, sizeof *share);
    double *above = share + all->n, *cost = above + all->n, *extra = cost + all->n, chance = 0;
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const head_figures *h = best_head(&all->at[i], part, role);
        if (!h) continue;
        share[n] = 100 * head_share(h, role, 1), above[n] = share[n] - 100 * h->chance[role];
        chance += 100 * h->chance[role], cost[n] = h->cost, extra[n++] = extra_cost(&all->at[i], h);
    }
    if (!n) return;
    spread s = spread_of(share, n), a = spread_of(above, n), k = spread_of(cost, n), x = spread_of(extra, n);
    grid_row(g, false);
    grid_set(g, 0, "%s", role_names[role]);
    grid_set(g, 1, "%s", part);
    grid_set(g, 2, "%zu", n);
    grid_set(g, 3, "%.1f ± %.1f", s.mean, s.sd);
    put_number(g, 4, "%.1f", chance / (double)n);
    grid_set(g, 5, "%+.1f [%+.1f, %+.1f]", a.mean, a.low, a.high);
    put_number(g, 6, a.p < 0.001 ? "<0.001" : "%.3f", a.p);
    write_percent(g, 7, k.mean);
    write_percent(g, 8, x.mean);
    if (isfinite(x.low)) grid_set(g, 9, "[%+.1f, %+.1f] %%", 100 * (exp(x.low) - 1), 100 * (exp(x.high) - 1));
    put_number(g, 10, x.p < 0.001 ? "<0.001" : "%.3f", x.p);
}

static void print_roles(const measured *all)
{
    static const char *const columns[] = {
        "role",        "attention",      "n",    "%", "by chance", "above chance, 95 %", "p",
        "pruned: PPL", "against others", "95 %", "p"};
    CLEANUP(grid_free) grid g = {0};
    g.title = all->at[0].row;
    for (size_t i = 0; i < LENGTH(columns); i++) grid_column(&g, columns[i], i > 1);
    role_line(&g, all, "encoder", ROLE_PREVIOUS);
    role_line(&g, all, "decoder", ROLE_PREVIOUS);
    role_line(&g, all, "encoder", ROLE_RARE);
    role_line(&g, all, "encoder", ROLE_SYNTAX);
    notes(&g);
    grid_footnote(&g, "For each seed, even sentences of the dev set select the head, odd ones give the figures. "
                      "pruned: dev PPL without this head; against others:");
    grid_footnote(&g, "compared with pruning another head of the same attention. n: seeds; intervals and "
                      "p over seeds, Student's t.");
    footnote_all_sources(&g, all);
    print_grid(&g);
}

/* ---- the rows of an experiment: the softmax's gradient ---- */

static size_t means_of(const measured *all, size_t first, const char *part, bool gradient, double *out)
{
    size_t n = 0;
    for (size_t i = first; i < all->n && same(all->at[i].row, all->at[first].row); i++) {
        double sum = 0, count = 0;
        for (size_t k = 0; k < all->at[i].n; k++) {
            const head_figures *h = &all->at[i].head[k];
            if (same(h->part, part)) sum += gradient ? h->gradient : h->entropy, count++;
        }
        if (count > 0) out[n++] = sum / count;
    }
    return n;
}

static void row_line(grid *g, const measured *all, size_t first, const char *part)
{
    AUTOFREE double *x = xcalloc(3 * all->n, sizeof *x);
    double *y = x + all->n, *base = y + all->n;
    size_t n = means_of(all, first, part, true, x), at = 0;
    while (at < all->n && !same(all->at[at].row, all->at[first].base)) at++;
    size_t n_base = at < all->n && at != first ? means_of(all, at, part, true, base) : 0;
    means_of(all, first, part, false, y);
    if (!n) return;
    spread s = spread_of(x, n), bits = spread_of(y, n);
    grid_row(g, false);
    grid_set(g, 0, "%s", all->at[first].row);
    grid_set(g, 1, "%s", part);
    grid_set(g, 2, "%zu", n);
    put_number(g, 3, "%.3f", s.mean);
    put_number(g, 4, "%.3f", s.sd);
    put_number(g, 7, "%.2f", bits.mean);
    if (!n_base || !isfinite(s.mean) || !isfinite(spread_of(base, n_base).mean)) return;
    CLEANUP(arm_free) arm row = arm_measure(x, NULL, n, 0), of_base = arm_measure(base, NULL, n_base, 0);
    difference d = design_compare(&row, &of_base, INFINITY);
    if (isfinite(d.p)) grid_set(g, 5, "%+.3f [%+.3f, %+.3f]", d.d, d.low, d.high);
    put_number(g, 6, d.p < 0.001 ? "<0.001" : "%.3f", d.p);
}

static void print_rows(const measured *all)
{
    static const char *const columns[] = {"row", "attention", "n", "gradient", "sd", "Δ, 95 %", "p", "entropy"},
                             *const named[] = {"encoder", "decoder", "source"};
    CLEANUP(grid_free) grid g = {0};
    for (size_t i = 0; i < LENGTH(columns); i++) grid_column(&g, columns[i], i > 1);
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < LENGTH(named) && (!i || !same(all->at[i].row, all->at[i - 1].row)); k++)
            row_line(&g, all, i, named[k]);
    grid_footnote(&g, "Gradient: Frobenius norm of the softmax's Jacobian over the keys, mean over queries, "
                      "heads and layers, after training; entropy in bits. Δ against base (within each condition),");
    grid_footnote(&g, "intervals and p over seeds (Welch), not corrected for the number of rows.");
    footnote_all_sources(&g, all);
    print_grid(&g);
}

/* ---- */

static void print_json(const measured *all)
{
    static const char *const keys[HEAD_ROLES] = {"previous_token", "rarest_token", "constituent"};
    static const char *const chance_keys[HEAD_ROLES] = {"previous_token_chance", "rarest_token_chance",
                                                        "constituent_chance"};
    CLEANUP(str_free) str out = {0};
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->at[i].n; k++) {
            const measured_run *r = &all->at[i];
            const head_figures *h = &r->head[k];
            str_add(&out, out.n ? ",\n{" : "[\n{");
            json_key_whole(&out, "run", r->run);
            json_key_text(&out, "row", r->row);
            json_key_whole(&out, "seed", r->seed);
            json_key_text(&out, "attention", h->part);
            json_key_whole(&out, "layer", h->layer);
            json_key_whole(&out, "head", (int64_t)h->head);
            for (int j = 0; j < HEAD_ROLES; j++) json_key_real(&out, keys[j], both(h, j));
            for (int j = 0; j < HEAD_ROLES; j++) json_key_real(&out, chance_keys[j], 100 * h->chance[j]);
            json_key_real(&out, "entropy", h->entropy);
            json_key_real(&out, "gradient", h->gradient);
            json_key_text(&out, "weights", influence_source(h->from));
            json_key_real(&out, "ppl_ratio_without", exp(h->cost));
            str_addc(&out, '}');
        }
    str_add(&out, "\n]\n");
    fputs(str_text(&out), stdout);
}

static void print_all(const measured *all, bool json)
{
    if (json)
        print_json(all);
    else if (all->rows)
        print_rows(all);
    else if (all->n > 1)
        print_roles(all);
    else
        print_heads(all);
}

int heads_print(const heads_options *o, const char *runs, const places *p, bool quiet, err *e)
{
    measured all = {0};
    int bad = find_runs(runs, p, &all, e);
    if (!bad && o->coreference)
        bad = heads_anaphora(o, p, all.at, all.n, quiet, e);
    else if (!bad && !(bad = measure(o, p, quiet, &all, e)))
        print_all(&all, o->json);
    for (size_t i = 0; i < all.n; i++) free(all.at[i].head);
    free(all.at);
    arena_free(&all.memory);
    return bad;
}
