/* heads_anaphora.c - prints `ablate heads --coreference`: heads that attend from pronouns to antecedents. */
#include "lab/study/anaphora.h"
#include "lab/study/heads.h"
#include <math.h>

enum { EVEN, ODD, BOTH }; /* halves of the sentences */

typedef struct { /* a head's figures over pronouns, in percent */
    size_t n, n_other;
    double antecedent, evenly, other, other_evenly; /* means; the last two over pronouns with another mention */
    spread above; /* the antecedent's excess over even weights, minus the other mention's excess */
} summary;

static summary summary_of(const anaphora_figures *f, const anaphora_head *h, int half)
{
    summary s = {0};
    AUTOFREE double *above = xmalloc(f->n * sizeof *above);
    for (size_t i = 0; i < f->n; i++) {
        const anaphora_shares *p = &h->pronoun[i];
        if (half != BOTH && f->half[i] != half) continue;
        s.antecedent += 100 * p->antecedent, s.evenly += 100 * p->evenly, s.n++;
        if (isnan(p->other)) continue;
        s.other += 100 * p->other, s.other_evenly += 100 * p->other_evenly;
        above[s.n_other++] = 100 * (p->antecedent - p->evenly - (p->other - p->other_evenly));
    }
    s.antecedent /= (double)s.n, s.evenly /= (double)s.n;
    s.other /= (double)s.n_other, s.other_evenly /= (double)s.n_other;
    s.above = spread_of(above, s.n_other);
    if (!s.n_other) s.above.mean = NAN;
    return s;
}

/* Finds the head with the largest difference in even sentences; NULL: a half without figures. */
static const anaphora_head *best_of(const anaphora_figures *f)
{
    const anaphora_head *best = NULL;
    double most = 0;
    for (size_t i = 0; i < f->n_heads; i++) {
        double even = summary_of(f, &f->head[i], EVEN).above.mean, odd = summary_of(f, &f->head[i], ODD).above.mean;
        if (isfinite(even) && isfinite(odd) && (!best || even > most)) best = &f->head[i], most = even;
    }
    return best;
}

/* ---- tables ---- */

static void write_above(grid *g, size_t column, const spread *s)
{
    if (isfinite(s->low))
        grid_set(g, column, "%+.1f [%+.1f, %+.1f]", s->mean, s->low, s->high);
    else
        put_number(g, column, "%+.1f", s->mean);
    put_number(g, column + 1, s->p < 0.001 ? "<0.001" : "%.3f", s->p);
}

static void notes(grid *g)
{
    grid_footnote(g, "antecedent %%: weight from a pronoun (mean over its tokens) to its antecedent (sum over its "
                     "tokens), averaged over pronouns. The antecedent is");
    grid_footnote(g, "the nearest earlier mention of the same entity that is not a pronoun. other %%: the same for the "
                     "nearest earlier mention of another entity.");
    grid_footnote(g, "Evenly: both weights if each token spread its weight evenly over all tokens it can see. "
                     "Difference: how much the antecedent exceeds evenly, minus how much the other mention does.");
}

static void head_line(grid *g, const anaphora_figures *f, const anaphora_head *h, int half)
{
    summary s = summary_of(f, h, half);
    grid_set(g, 1, "%lld", (long long)h->layer);
    grid_set(g, 2, "%zu", h->head);
    put_number(g, 3, "%.1f", s.antecedent);
    put_number(g, 4, "%.1f", s.other);
    write_above(g, 5, &s.above);
}

static void print_heads(const measured_run *r, const anaphora_figures *f)
{
    static const char *const columns[] = {"attention",        "layer", "head",   "antecedent %", "other %",
                                          "difference, 95 %", "p",     "weights"};
    bool seen[FROM_ROWS + 1] = {false};
    CLEANUP(grid_free) grid g = {0};
    g.title = r->row;
    for (size_t i = 0; i < LENGTH(columns); i++) grid_column(&g, columns[i], i > 0);
    for (size_t i = 0; i < f->n_heads; i++) {
        grid_row(&g, false);
        grid_set(&g, 0, "%s", f->head[i].part);
        head_line(&g, f, &f->head[i], BOTH);
        grid_set(&g, 7, "%s", source_name(f->head[i].from));
        seen[f->head[i].from] = true;
    }
    summary s = summary_of(f, &f->head[0], BOTH);
    grid_row(&g, true);
    grid_set(&g, 0, "evenly");
    put_number(&g, 3, "%.1f", s.evenly);
    put_number(&g, 4, "%.1f", s.other_evenly);
    const anaphora_head *best = best_of(f);
    if (best) {
        grid_row(&g, false);
        grid_set(&g, 0, "best");
        head_line(&g, f, best, ODD);
    }
    notes(&g);
    grid_footnote(&g,
                  "%zu pronouns, %zu with a mention of another entity; interval and p over pronouns (Student's t), p "
                  "not corrected for the number of heads.",
                  s.n, s.n_other);
    if (best)
        grid_footnote(&g,
                      "best: even sentences select the head with the largest difference, odd ones give the figures.");
    footnote_sources(&g, seen);
    print_grid(&g);
}

/* Adds the line of one row: the best heads of its runs [n]. */
static void row_line(grid *g, const measured_run *runs, const anaphora_figures *f, size_t n)
{
    AUTOFREE double *above = xmalloc(n * sizeof *above);
    double antecedent = 0, evenly = 0, other = 0;
    size_t found = 0;
    const char *part = "";
    for (size_t i = 0; i < n; i++) {
        const anaphora_head *best = best_of(&f[i]);
        if (!best) continue;
        summary s = summary_of(&f[i], best, ODD);
        above[found++] = s.above.mean, part = best->part;
        antecedent += s.antecedent, evenly += s.evenly, other += s.other;
    }
    grid_row(g, false);
    grid_set(g, 0, "%s", runs->row);
    grid_set(g, 1, "%s", part);
    grid_set(g, 2, "%zu", found);
    put_number(g, 3, "%.1f", antecedent / (double)found);
    put_number(g, 4, "%.1f", evenly / (double)found);
    put_number(g, 5, "%.1f", other / (double)found);
    spread s = spread_of(above, found);
    if (found) write_above(g, 6, &s);
}

static void print_rows(const measured_run *runs, const anaphora_figures *f, size_t n)
{
    static const char *const columns[] = {"row",     "attention",        "n", "antecedent %", "evenly %",
                                          "other %", "difference, 95 %", "p"};
    bool seen[FROM_ROWS + 1] = {false};
    CLEANUP(grid_free) grid g = {0};
    for (size_t i = 0; i < LENGTH(columns); i++) grid_column(&g, columns[i], i > 1);
    for (size_t i = 0, same_row; i < n; i += same_row) {
        for (same_row = 1; i + same_row < n && same(runs[i + same_row].row, runs[i].row);) same_row++;
        row_line(&g, runs + i, f + i, same_row);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < f[i].n_heads; k++) seen[f[i].head[k].from] = true;
    notes(&g);
    grid_footnote(&g, "For each seed, even sentences select the head with the largest difference, odd ones give the "
                      "figures. n: seeds; intervals and p over seeds, Student's t.");
    footnote_sources(&g, seen);
    print_grid(&g);
}

static void print_json(const measured_run *runs, const anaphora_figures *f, size_t n)
{
    CLEANUP(str_free) str out = {0};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < f[i].n_heads; k++) {
            const anaphora_head *h = &f[i].head[k];
            summary s = summary_of(&f[i], h, BOTH);
            str_add(&out, out.n ? ",\n{" : "[\n{");
            json_key_whole(&out, "run", runs[i].run);
            json_key_text(&out, "row", runs[i].row);
            json_key_whole(&out, "seed", runs[i].seed);
            json_key_text(&out, "attention", h->part);
            json_key_whole(&out, "layer", h->layer);
            json_key_whole(&out, "head", (int64_t)h->head);
            json_key_whole(&out, "pronouns", (int64_t)s.n);
            json_key_real(&out, "antecedent", s.antecedent);
            json_key_real(&out, "antecedent_evenly", s.evenly);
            json_key_whole(&out, "pronouns_with_other", (int64_t)s.n_other);
            json_key_real(&out, "other", s.other);
            json_key_real(&out, "other_evenly", s.other_evenly);
            json_key_real(&out, "difference", s.above.mean);
            json_key_real(&out, "low", s.above.low);
            json_key_real(&out, "high", s.above.high);
            json_key_real(&out, "p", s.above.p);
            json_key_text(&out, "weights", influence_source(h->from));
            str_addc(&out, '}');
        }
    str_add(&out, "\n]\n");
    fputs(str_text(&out), stdout);
}

/* ---- */

static void print_counts(const coreference *x, const anaphora_figures *f)
{
    fprintf(stderr, "%zu pronouns with an antecedent in %zu sentences", x->n_pairs, x->n);
    if (x->withheld) fprintf(stderr, "; %zu more sentences have withheld words", x->withheld);
    if (f->left)
        fprintf(stderr, "; %zu pronouns left out, in sentences too long for the model or with tokens that span words",
                f->left);
    if (f->unknown) fprintf(stderr, "; %zu pronouns are not in the vocabulary", f->unknown);
    fprintf(stderr, "\n");
}

int heads_anaphora(const heads_options *o, const places *p, const measured_run *runs, size_t n, bool quiet, err *e)
{
    coreference x;
    if (coreference_read(o->coreference, &x, e)) return -1;
    AUTOFREE anaphora_figures *f = xcalloc(n, sizeof *f);
    int bad = 0;
    for (size_t i = 0; i < n && !bad; i++) {
        AUTOFREE char *path = heads_model_path(p, &runs[i], quiet, e);
        bad = path ? anaphora_measure(path, p, &x, &f[i], e) : -1;
        if (!bad && !quiet) print_counts(&x, &f[i]);
    }
    if (!bad && o->json)
        print_json(runs, f, n);
    else if (!bad && n > 1)
        print_rows(runs, f, n);
    else if (!bad)
        print_heads(&runs[0], &f[0]);
    for (size_t i = 0; i < n; i++) anaphora_free(&f[i]);
    coreference_free(&x);
    return bad;
}
