/* search.c - lr = tune(1e-4 .. 1e-2, 5): a separate search for each row, on the dev set, by successive halving
 * (Jamieson and Talwalkar 2016).
 *
 * All candidates of a row train for part of the row's steps; the better half trains twice as many, from the start; the
 * last rung trains all steps, and its best candidate is chosen. Trials are runs of the experiment NAME.tune with a seed
 * that NAME does not use, so none enters a mean of NAME. */
#include "text/metric/metric.h"
#include "lab/sweep/candidates.h"
#include "lab/sweep/left.h"
#include "lab/results/read.h"
#include <math.h>
#include <stdlib.h>

enum { TUNE_SEED = 1001 };

typedef struct {
    const spec *s;
    const trainer *t;
    prepared *out;
    row_search *rows;
    size_t n, rungs;
    int64_t seed;  /* the first seed of its trials */
    size_t seeds;  /* largest number of seeds of a trial */
    str ini;       /* INI of NAME.tune; each rung adds trials */
    size_t *asked; /* [n_written] number of seeds of each trial in the INI */
    size_t n_written, cap_written;
} searcher;

static int64_t steps_at(const searcher *s, const row_search *r, size_t rung)
{
    int64_t steps = r->row->config.steps >> (s->rungs - 1 - rung);
    return steps > 0 ? steps : 1;
}

/* ---- one rung: written, trained, read ---- */

static const char *trial_name(const row_search *r, const candidate *c, size_t rung, arena *a)
{
    char number[32];
    CLEANUP(str_free) str s = {0};
    str_addf(&s, "%s", r->row->name);
    for (size_t k = 0; k < r->row->n_tunes; k++)
        str_addf(&s, " %s=%s", r->row->tunes[k].key, format_real(c->value[k], number));
    str_addf(&s, " rung %zu", rung + 1);
    return arena_strdup(a, s.s);
}

/* Writes a trial with all its settings; the very first is the experiment's base. */
static void write_trial(searcher *s, const row_search *r, const candidate *c, size_t rung)
{
    char number[32];
    s->asked = grow(s->asked, &s->cap_written, s->n_written + 1, sizeof *s->asked);
    s->asked[s->n_written] = r->seeds;
    if (s->n_written++)
        str_addf(&s->ini, "[variant trial %zu]\nname = %s\ngroup = rung %zu\n", s->n_written,
                 trial_name(r, c, rung, &s->out->mem), rung + 1);
    else
        str_add(&s->ini, "[base]\n");
    for (size_t i = 0; i < r->row->settings.n; i++) {
        const char *key = r->row->settings.at[i].key, *value = r->row->settings.at[i].value;
        for (size_t k = 0; k < r->row->n_tunes; k++)
            if (same(key, r->row->tunes[k].key)) value = format_real(c->value[k], number);
        char steps[32];
        snprintf(steps, sizeof steps, "%lld", (long long)steps_at(s, r, rung));
        if (same(key, "steps")) value = steps;
        if (same(key, "decode_split")) value = "none"; /* perplexity needs no decoding */
        spec_write_setting(&s->ini, key, value);
    }
}

static const read_run *run_of(const read_experiment *x, const char *name, int64_t seed)
{
    for (size_t i = 0; i < x->n_rows; i++)
        for (size_t k = 0; same(x->rows[i].name, name) && k < x->rows[i].n_runs; k++)
            if (x->rows[i].runs[k].seed == seed) return &x->rows[i].runs[k];
    return NULL;
}

static double ppl_of(const read_run *run)
{
    const read_result *ppl = run && run->status == DB_DONE ? read_result_of(run, metric_perplexity.name) : NULL;
    return ppl ? ppl->value : NAN;
}

static void record_trial(searcher *s, const row_search *r, const candidate *c, size_t rung, int64_t seed,
                         const read_run *run)
{
    prepared *p = s->out;
    double ppl = ppl_of(run);
    p->trials = grow(p->trials, &p->cap_trials, p->n_trials + 1, sizeof *p->trials);
    p->trials[p->n_trials++] = (db_trial){.row = arena_strdup(&p->mem, r->row->name),
                                          .n = (int64_t)c->number,
                                          .rung = (int64_t)rung,
                                          .settings = candidate_settings(r, c, &p->mem),
                                          .seed = seed,
                                          .steps = steps_at(s, r, rung),
                                          .metric = metric_perplexity.name,
                                          .value = ppl,
                                          .seconds = run ? run->seconds : NAN,
                                          .flops = run ? run->flops_step * (double)steps_at(s, r, rung) : NAN,
                                          .outcome = isfinite(ppl) ? "pruned" : "failed"};
}

static void set_outcome(prepared *p, const row_search *r, const candidate *c, size_t rung, const char *outcome)
{
    for (size_t i = 0; i < p->n_trials; i++)
        if (same(p->trials[i].row, r->row->name) && p->trials[i].n == (int64_t)c->number &&
            p->trials[i].rung == (int64_t)rung)
            p->trials[i].outcome = outcome;
}

/* Keeps the better half; in the last rung chooses the best. */
static void promote(searcher *s, row_search *r, size_t rung)
{
    bool last = rung + 1 == s->rungs;
    size_t alive = 0, keep;
    bool kept[MOST_TRIALS] = {false};
    for (size_t i = 0; i < r->n; i++) alive += r->at[i].alive;
    keep = last ? 1 : search_promoted(alive);
    for (size_t k = 0; k < keep; k++) {
        size_t best = r->n;
        for (size_t i = 0; i < r->n; i++)
            if (r->at[i].alive && !kept[i] && isfinite(r->at[i].score) &&
                (best == r->n || metric_better(&metric_perplexity, r->at[i].score, r->at[best].score) > 0))
                best = i;
        if (best == r->n) break;
        for (size_t i = 0; i < r->n && last; i++) /* an extension may have found a better candidate */
            if (r->at[i].alive && i != best && isfinite(r->at[i].score))
                set_outcome(s->out, r, &r->at[i], rung, "pruned");
        kept[best] = true;
        set_outcome(s->out, r, &r->at[best], rung, last ? "chosen" : "promoted");
    }
    for (size_t i = 0; i < r->n; i++) r->at[i].alive = kept[i];
}

/* Rows with fewer candidates start at a later rung. */
static size_t first_rung(const searcher *s, const row_search *r) { return s->rungs - r->rungs; }

/* Writes the trials of all rungs up to this one as a spec; *n: new trials; *base: name of the first trial, the base. */
static int write_rung(searcher *s, size_t rung, spec *trials, const char **base, size_t *n, err *e)
{
    CLEANUP(str_free) str errors = {0};
    bool was_base = !s->n_written;
    *base = NULL, *n = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->rows[i].n && rung >= first_rung(s, &s->rows[i]); k++)
            if (s->rows[i].at[k].alive && !s->rows[i].stuck && s->rows[i].at[k].asked != rung + 1) {
                if (was_base && !*n) *base = trial_name(&s->rows[i], &s->rows[i].at[k], rung, &s->out->mem);
                write_trial(s, &s->rows[i], &s->rows[i].at[k], rung), (*n)++;
                s->rows[i].at[k].asked = rung + 1;
            }
    int bad = spec_parse(trials, str_text(&s->ini), s->s->path, NULL, s->t->plugins, &errors);
    if (bad) fail(e, "search: %s", str_text(&errors));
    for (size_t i = 0; i < trials->n_rows && !bad && s->seeds > 1; i++) {
        spec_row *trained = &trials->rows[trials->rows[i].same_as < 0 ? i : (size_t)trials->rows[i].same_as];
        if (trained->n_seeds < s->asked[i]) trained->n_seeds = s->asked[i];
    }
    return bad ? -1 : 0;
}

/* Reads a candidate's runs in a rung; counts killed and unfinished runs in *killed and *open. */
static void read_trial(searcher *s, const row_search *r, candidate *c, size_t rung, const read_experiment *x,
                       const char *base, size_t *killed, size_t *open)
{
    const char *name = trial_name(r, c, rung, &s->out->mem);
    double sum = 0, first = NAN;
    for (size_t i = 0; i < r->seeds; i++) {
        int64_t seed = s->seed + (int64_t)i;
        const read_run *run = run_of(x, same(name, base) ? "base" : name, seed);
        *killed += run && run->status == DB_KILLED;
        *open += run && (run->status == DB_RUNNING || run->status == DB_QUEUED);
        record_trial(s, r, c, rung, seed, run);
        sum += log(ppl_of(run));
        if (!i) first = ppl_of(run);
    }
    c->score = r->seeds == 1 ? first : exp(sum / (double)r->seeds);
    c->scored = rung + 1;
}

/* Reads a rung's scores from the database, and promotes. */
static int read_rung(searcher *s, size_t rung, const char *experiment, const char *base, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_experiment x;
    CLEANUP(reader_end) reader *r = reader_open(s->t->db, e);
    int bad = !r || reader_experiment(r, experiment, READ_VALUES, &a, &x, e);
    size_t killed = 0, open = 0;
    for (size_t i = 0; i < s->n && !bad; i++) {
        row_search *of = &s->rows[i];
        if (rung < first_rung(s, of) || of->stuck) continue;
        for (size_t k = 0; k < of->n; k++)
            if (of->at[k].alive && of->at[k].scored != rung + 1)
                read_trial(s, of, &of->at[k], rung, &x, base, &killed, &open);
        promote(s, of, rung);
    }
    if (!bad && (killed || open)) /* wait for all trials of the rung */
        bad =
            fail(e, "search, rung %zu: %zu trial%s in another process and %zu killed; the same command continues them",
                 rung + 1, open, open == 1 ? " is" : "s are", killed);
    return bad ? -1 : 0;
}

static int do_rung(searcher *s, size_t rung, err *e)
{
    CLEANUP(spec_free) spec trials = {0};
    const char *base;
    size_t n;
    if (write_rung(s, rung, &trials, &base, &n, e)) return 2;
    if (s->t->talk) fprintf(stderr, "search, rung %zu of %zu: %zu trials\n", rung + 1, s->rungs, n);
    int code = s->t->train(s->t->self, &trials, e);
    if (code == 1 && !e->text[0]) code = 0; /* a failed trial is not chosen */
    return !code && read_rung(s, rung, trials.name, base, e) ? 1 : code;
}

/* ---- all rows ---- */

/* Sets the candidate's values in the row and in all equal rows. */
static void give(searcher *s, const row_search *r, const candidate *c)
{
    char number[32];
    for (size_t k = 0; k < r->row->n_tunes; k++) {
        const char *value = format_real(c->value[k], number);
        for (size_t j = 0; j < s->s->n_rows; j++)
            if (&s->s->rows[j] == r->row || s->s->rows[j].same_as == (int)r->row->order)
                prepared_choose(s->out, s->s->rows[j].name, r->row->tunes[k].key, value);
    }
}

static int choose(searcher *s, err *e)
{
    char number[32];
    for (size_t i = 0; i < s->n; i++) {
        row_search *r = &s->rows[i];
        const candidate *best = candidates_best(r);
        if (r->stuck) continue;
        if (!best) {
            fail(e, "search: all trials of row %s failed or diverged; see `ablate table %s.tune`", r->row->name,
                 s->s->name);
            return 1;
        }
        give(s, r, best);
        for (size_t k = 0; k < r->row->n_tunes && s->t->talk; k++)
            fprintf(stderr, "search: %s gets %s = %s, dev PPL %.4g, best of %zu candidates%s\n", r->row->name,
                    r->row->tunes[k].key, format_real(best->value[k], number), best->score, r->n,
                    candidate_at_edge(r, best, k) ? ", at an end of the values tried" : "");
    }
    return 0;
}

/* Returns the first of n seeds that the report does not use. */
static int64_t own_seed(const spec *s, size_t n)
{
    int64_t seed = TUNE_SEED;
    for (size_t i = 0; i < s->n_seeds; i++)
        if (s->seeds[i] >= seed && s->seeds[i] < seed + (int64_t)n) seed = s->seeds[i] + 1, i = (size_t)-1;
    return seed;
}

/* ---- rows that this call does not train ---- */

/* A searched row outside this call keeps its earlier values: new ones would take its results out of the table. */
static bool is_left_out(const spec_row *row) { return row->n_tunes && row->same_as < 0 && !row->run; }

/* Returns the candidate that the stored trials chose, if all are candidates of the row's present search; NULL: none. */
static const candidate *recalled(row_search *r, const db_trial *list, size_t n, arena *a)
{
    const candidate *chosen = NULL;
    for (size_t i = 0; i < n; i++) {
        const db_trial *t = &list[i];
        if (!same(t->row, r->row->name)) continue;
        const candidate *c = candidate_called(r, t->n, t->settings, a);
        if (!c) return NULL;
        if (same(t->outcome, "chosen")) chosen = t->steps == r->row->config.steps ? c : NULL;
    }
    return chosen;
}

static void keep_trials(prepared *p, const char *row, const db_trial *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!same(list[i].row, row)) continue;
        p->trials = grow(p->trials, &p->cap_trials, p->n_trials + 1, sizeof *p->trials);
        db_trial *t = &p->trials[p->n_trials++];
        *t = list[i];
        t->row = arena_strdup(&p->mem, t->row), t->settings = arena_strdup(&p->mem, t->settings);
        t->metric = arena_strdup(&p->mem, t->metric), t->outcome = arena_strdup(&p->mem, t->outcome);
    }
}

static int recall(searcher *s, err *e)
{
    db_options own = *s->t->db;
    err none = {0}; /* without a database nothing is stored */
    CLEANUP(arena_free) arena a = {0};
    db_trial *list = NULL;
    size_t n = 0;
    bool any = false;
    for (size_t i = 0; i < s->s->n_rows; i++) any = any || is_left_out(&s->s->rows[i]);
    own.recorded = NULL; /* excludes others' trials */
    CLEANUP(reader_end) reader *r = any ? reader_open(&own, &none) : NULL;
    int bad = r ? reader_trials(r, s->s->name, &a, &list, &n, e) : 0;
    for (size_t i = 0; i < s->s->n_rows && n && !bad; i++) {
        row_search one = {.row = &s->s->rows[i]};
        if (!is_left_out(one.row) || candidates_list(&one, &none)) continue;
        const candidate *chosen = recalled(&one, list, n, &a);
        if (chosen) give(s, &one, chosen), keep_trials(s->out, one.row->name, list, n);
    }
    return bad;
}

/* ---- the search of a call ---- */

/* Lists the rows to search; 0, or an exit code. */
static int open_search(searcher *s, err *e)
{
    int code = 0;
    s->rows = xcalloc(s->s->n_rows + 1, sizeof *s->rows), s->rungs = s->seeds = 1;
    for (size_t i = 0; i < s->s->n_rows && !code; i++) {
        const spec_row *row = &s->s->rows[i];
        if (!row->n_tunes || row->same_as >= 0 || !row->run) continue;
        s->rows[s->n].row = row;
        code = candidates_list(&s->rows[s->n], e) ? 2 : 0;
        if (s->rows[s->n].rungs > s->rungs) s->rungs = s->rows[s->n].rungs;
        if (s->rows[s->n].seeds > s->seeds) s->seeds = s->rows[s->n].seeds;
        s->n++;
    }
    s->seed = own_seed(s->s, s->seeds);
    str_addf(&s->ini, "[experiment]\nname = %s.tune\nseeds = %lld", s->s->name, (long long)s->seed);
    if (s->seeds > 1) str_addf(&s->ini, "..%lld", (long long)s->seed + (long long)s->seeds - 1);
    str_addf(&s->ini, "\nnote = trials of the searches of %s; not included in its means\n", s->s->name);
    return code ? code : recall(s, e) ? 1 : 0;
}

static void close_search(searcher *s)
{
    str_free(&s->ini);
    free(s->asked);
    free(s->rows);
}

/* Adds candidates beyond the edges at which rows have their best candidate. Returns false if none was added. */
static bool extend(searcher *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n; i++) any = (!s->rows[i].stuck && candidates_extend(&s->rows[i])) || any;
    return any;
}

int search_rows(const spec *of, const trainer *t, prepared *out, err *e)
{
    searcher s = {.s = of, .t = t, .out = out};
    int code = open_search(&s, e);
    for (size_t rung = 0; rung < s.rungs && s.n && !code; rung++) code = do_rung(&s, rung, e);
    for (size_t i = 0; i < MOST_EXTENSIONS && !code && extend(&s); i++) code = do_rung(&s, s.rungs - 1, e);
    if (!code) code = choose(&s, e);
    close_search(&s);
    return code;
}

/* ---- counting the trials left ---- */

static size_t alive_of(const row_search *r)
{
    size_t n = 0;
    for (size_t k = 0; k < r->n; k++) n += r->at[k].alive;
    return n;
}

/* Counts the candidate's runs of a rung that are not done. */
static size_t trial_left(const searcher *s, const row_search *r, const done_runs *done, const spec *trials,
                         const char *name, const char *base)
{
    size_t left = r->seeds;
    for (size_t i = 0; i < trials->n_rows; i++)
        for (size_t k = 0; same(trials->rows[i].name, same(name, base) ? "base" : name) && k < r->seeds; k++)
            left -= run_is_done(done, trials->rows[i].hash, s->seed + (int64_t)k);
    return left;
}

/* Counts a rung's trials that are not done; rows without any continue with the next rung. */
static int rung_left(searcher *s, size_t rung, const done_runs *done, search_left *left, err *e)
{
    CLEANUP(spec_free) spec trials = {0};
    const char *base;
    size_t n;
    if (write_rung(s, rung, &trials, &base, &n, e)) return -1;
    if (recognize_rows(s->t->db, NULL, &trials, RERUN_CHANGED, e)) return -1;
    for (size_t i = 0; i < s->n; i++) {
        row_search *r = &s->rows[i];
        search_left *of = &left[r->row - s->s->rows];
        size_t alive = alive_of(r), *missing = &of->trials[rung];
        if (rung < first_rung(s, r) || r->stuck) continue;
        for (size_t k = 0; k < r->n; k++)
            if (r->at[k].alive)
                *missing += trial_left(s, r, done, &trials, trial_name(r, &r->at[k], rung, &s->out->mem), base);
        r->stuck = *missing > 0;
        for (size_t next = rung + 1; next < s->rungs && r->stuck; next++)
            alive = search_promoted(alive), of->trials[next] = alive * r->seeds;
    }
    bool scores = false;
    for (size_t i = 0; i < s->n; i++) scores = scores || (!s->rows[i].stuck && rung >= first_rung(s, &s->rows[i]));
    return scores && read_rung(s, rung, trials.name, base, e) ? -1 : 0;
}

int search_count_left(const spec *of, const trainer *t, const done_runs *done, prepared *out, search_left *left, err *e)
{
    searcher s = {.s = of, .t = t, .out = out};
    int bad = open_search(&s, e);
    for (size_t i = 0; i < s.n && !bad; i++) {
        search_left *x = &left[s.rows[i].row - of->rows];
        x->rungs = s.rungs;
        for (size_t rung = 0; rung < s.rungs; rung++) x->steps[rung] = steps_at(&s, &s.rows[i], rung);
    }
    for (size_t rung = 0; rung < s.rungs && s.n && !bad; rung++) bad = rung_left(&s, rung, done, left, e);
    for (size_t i = 0; i < MOST_EXTENSIONS && !bad && extend(&s); i++) bad = rung_left(&s, s.rungs - 1, done, left, e);
    if (!bad) bad = choose(&s, e);
    close_search(&s);
    return bad ? -1 : 0;
}
