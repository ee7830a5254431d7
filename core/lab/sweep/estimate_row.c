/* estimate_row.c - the child side: opens tasks, counts costs of rows, times updates, prints a line per row. */
#include "lab/sweep/estimate_child.h"
#include "tensor/cpu/cpu.h"
#include "tensor/device/device.h"
#include <math.h>
#include <stdlib.h>

/* Seconds of timing. HURRIED, PATIENT: for all rows, by `patient`; MOST_OF_ROW, LEAST_OF_ROW: for one row. */
static const double HURRIED = 0.5, PATIENT = 5, MOST_OF_ROW = 0.6, LEAST_OF_ROW = 0.05;
static const double PLANNING = 7; /* seconds of a dry run, data and counts included, after which it times no row */
static const double TIMED = 0.1; /* largest share of a run's updates to time: an estimate must cost less than the run */
static const double GPU_CONTEXT =
    1e9; /* GPU bytes beside a model: CUDA's context, cuBLASLt, cuDNN and their workspaces; not measured yet */
static const double START = 0.05;                  /* seconds of a run beside data, updates and scores */
static const double SUBWORD = 5e-7, SYMBOL = 5e-8; /* seconds to encode a token: a subword; a word or character */
static const double WRITING = 1e9;                 /* bytes of checkpoints written per second */
static const double TRACING = 60; /* limit in seconds for a step that takes milliseconds unless a plugin loops */

/* ---- costs ---- */

/* Announces the next work to the parent, and its limit in seconds; "": the last work has ended. */
static void print_doing(const char *what, double seconds)
{
    printf("doing\t%g\t%s\n", seconds, what);
    fflush(stdout);
}

/* ---- speeds ---- */

typedef struct { /* the work of a row that can be traced */
    size_t row;
    const group *g;
    char *kind; /* rows of one kind differ in size only */
    dtype compute;
    model_costs costs, update; /* with sentences of the usual length; with the data's lengths */
    double flops, tokens;      /* FLOPs and tokens of an update */
    row_speed speed;
    double to_time;        /* at most this many updates are timed */
    bool timed, too_large; /* the row was timed; the row is too large to be timed */
    char *counted;         /* rows with the same text have the same costs */
} row_work;

static char *kind_of(const spec_row *row, const group *g)
{
    str s = {0};
    str_addf(&s, "%s", g->key);
    for (size_t i = 0; i < row->placed.n; i++)
        if (config_plugin_kind(row->placed.at[i].key))
            str_addf(&s, "%s=%s\n", row->placed.at[i].key, row->placed.at[i].value);
    return s.s;
}

/* Settings that change no count, and settings that change a count only by being 0 or not. */
static const char *const uncounted[] = {"lr", "warmup", "steps", "eval_every", "save_every", "schedule", "beam_size"};
static const char *const nonzero[] = {"dropout", "label_smoothing", "weight_decay"};

static bool listed(const char *key, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (same(key, list[i])) return true;
    return false;
}

static char *counted_as(const spec_row *row, const group *g)
{
    str s = {0};
    str_addf(&s, "%p\n", (const void *)g);
    for (size_t i = 0; i < row->placed.n; i++) {
        const setting *x = &row->placed.at[i];
        double value;
        bool brief = listed(x->key, nonzero, LENGTH(nonzero)) && parse_real(x->value, &value) && value > 0;
        if (!listed(x->key, uncounted, LENGTH(uncounted))) str_addf(&s, "%s=%s\n", x->key, brief ? "x" : x->value);
    }
    return s.s;
}

/* Finds the timed row that predicts this row's speed best: of its kind, if any, then nearest in size. NULL: none. */
static const row_work *guide_of(const row_work *w, size_t n, const row_work *of)
{
    const row_work *best = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!w[i].timed) continue;
        bool kind = same(w[i].kind, of->kind), better = !best || (kind && !same(best->kind, of->kind));
        if (!better && kind == same(best->kind, of->kind))
            better = fabs(log(w[i].flops / of->flops)) < fabs(log(best->flops / of->flops));
        if (better) best = &w[i];
    }
    return best;
}

static void derive_speed(row_work *w, const row_work *from)
{
    double step = w->flops / from->flops, token = step * from->tokens / w->tokens;
    w->speed = (row_speed){from->speed.step * step, from->speed.forward * token, from->speed.token * token, 1};
}

/* Counts the updates left in a row's runs and in its search. */
static double updates_left(const spec_row *row, size_t runs, const search_left *search)
{
    double n = (double)runs * (double)row->config.steps;
    for (size_t i = 0; i < search->rungs; i++) n += (double)search->trials[i] * (double)search->steps[i];
    return n;
}

/* Times one row of each kind, then others for `patience` seconds; derives the rest from their costs. */
static void find_speeds(const spec *s, row_work *w, size_t n, const backend *on, double patience, double limit)
{
    double began = ticks(), each = fmax(LEAST_OF_ROW, fmin(MOST_OF_ROW, patience / (double)(n + 1)));
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < n; i++) {
            const row_work *guide = w[i].timed ? NULL : guide_of(w, n, &w[i]);
            bool known = guide && same(guide->kind, w[i].kind) &&
                         (!round || (guide->flops == w[i].flops && guide->tokens == w[i].tokens));
            if (w[i].timed || known || !w[i].to_time || (guide && ticks() - began > patience)) continue;
            err why = {0};
            const spec_row *row = &s->rows[w[i].row];
            double needs = timing_memory(row, w[i].g, on, w[i].compute, &w[i].update, &why);
            if ((w[i].too_large = needs > MOST_TO_TIME)) continue;
            print_doing(row->name, limit);
            w[i].speed = time_row(row, w[i].g, on, w[i].compute, &w[i].update, each, w[i].to_time, &why);
            w[i].timed = isfinite(w[i].speed.step);
        }
    print_doing("", 0);
    for (size_t i = 0; i < n; i++) {
        const row_work *guide = w[i].timed ? NULL : guide_of(w, n, &w[i]);
        if (guide) derive_speed(&w[i], guide);
    }
}

static void print_too_large(const spec *s, const row_work *w, size_t n)
{
    size_t many = 0, first = 0;
    for (size_t i = 0; i < n; i++)
        if ((w[i].too_large || PROGRAM + (double)w[i].costs.learned > MOST_TO_TIME) && !many++) first = i;
    if (many)
        printf("note\t%s%s not timed: planning uses at most %g GB of memory\n", s->rows[w[first].row].name,
               many > 1 ? " and similar rows are" : " is", MOST_TO_TIME / 1e9);
}

/* ---- a run ---- */

typedef struct { /* seconds */
    double start, training, scoring;
    run_counts counts;
} run_time;

static run_time time_of_run(const spec_row *row, const row_work *w, double steps, bool trial)
{
    const group *g = w->g;
    const split_size *train = &g->split[AB_TRAIN];
    run_counts n = count_run(&row->config, g, steps, w->speed.step, trial);
    return (run_time){.counts = n,
                      .start = START + 1.5 * g->seconds + (g->subwords ? SUBWORD : SYMBOL) * (train->src + train->tgt),
                      .training = n.updates * w->speed.step,
                      .scoring = n.evaluated * w->speed.forward +
                                 n.decoded * (double)row->config.beam_size * w->speed.token +
                                 n.saves * (double)w->costs.learned * 1.5 / WRITING};
}

/* Returns the seconds left of the search for a row's settings; *trials, *updates: the numbers left. */
static double time_of_search(const spec_row *row, const row_work *w, const search_left *left, size_t *trials,
                             double *updates)
{
    double seconds = 0;
    *trials = 0, *updates = 0;
    for (size_t rung = 0; rung < left->rungs; rung++) {
        double n = (double)left->trials[rung];
        run_time t = time_of_run(row, w, (double)left->steps[rung], true);
        if (n > 0) seconds += n * (t.start + t.training + t.scoring), *updates += n * t.counts.updates;
        *trials += left->trials[rung];
    }
    return seconds;
}

/* Computes the bytes on a GPU: the arena of values is an eighth larger (plan.c), and parameters have a copy in bf16. */
static double gpu_bytes(const model_costs *c)
{
    return 1.125 * (double)c->values + (double)c->learned + 2.0 * (double)c->parameters + GPU_CONTEXT;
}

/* word: "row" before its updates are timed, "timed" afterwards. */
static void print_row(const char *word, const spec *s, const row_work *w, bool device, size_t left,
                      const search_left *to_search)
{
    const spec_row *row = &s->rows[w->row];
    const model_costs *c = &w->costs;
    double tokens = (w->g->src ? 2.0 : 1.0) * (double)row->config.batch_tokens,
           kept = 2 + (double)row->config.average_checkpoints + (row->config.checkpoint == SELECT_BEST);
    kept += 3 * (double)row->config.keep_states; /* with two slots, as adam has */
    double disk = 4.0 * (double)c->parameters * (kept + 2), memory = (double)(c->values + c->learned) + PROGRAM,
           gpu = 0;
    if (device) /* the host holds CUDA's libraries, and the parameters twice while they are read or written */
        gpu = gpu_bytes(c), memory = 8.0 * (double)c->parameters + GPU_CONTEXT + PROGRAM;
    run_time t = time_of_run(row, w, (double)row->config.steps, false);
    size_t trials;
    double tried, search = time_of_search(row, w, to_search, &trials, &tried);
    printf("%s\t%zu\t%zu\t%lld\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%zu\t%.17g\t%.17g\t%.17g\n", word, w->row,
           left, (long long)c->parameters, costs_total(c) / tokens, memory, disk, t.training, t.start + t.scoring,
           search, trials, gpu, w->flops * t.counts.updates, w->flops * tried);
    if (same(word, "row")) return;
    printf("counts\t%s\tupdates=%.0f evaluations=%.0f evaluated=%.0f decoded=%.0f saves=%.0f trials=%zu "
           "trial_updates=%.0f tokens=%.0f left=%zu\n",
           row->name, t.counts.updates, t.counts.evaluations, t.counts.evaluated, t.counts.decoded, t.counts.saves,
           trials, tried, tokens_of_update(w->g, w->tokens), left);
}

static void print_error(const char *kind, const err *e)
{
    printf("%s\t", kind);
    for (const char *c = e->text; *c; c++) putchar(*c == '\n' || *c == '\t' ? ' ' : *c);
    putchar('\n');
}

/* ---- the sweep ---- */

void estimate_open(estimate_data *d, const spec *s, const places *p)
{
    err e = {0};
    *d = (estimate_data){.of = xcalloc(s->n_rows + 1, sizeof *d->of), .began = ticks()};
    d->open = !groups_open(s, p, &d->groups, &d->n, d->of, &d->missing, &e);
    if (!d->open) d->missing = e;
    if (d->missing.text[0]) print_error("missing", &d->missing);
}

void estimate_close(estimate_data *d)
{
    groups_free(d->groups, d->n);
    free(d->of);
}

/* Counts a row's costs, or copies them from a row with equal costs among the n before it. */
static int count_work(row_work *w, const row_work *before, size_t n, const spec_row *row, const backend *on, err *e)
{
    const char *counted = w->counted = counted_as(row, w->g);
    w->kind = kind_of(row, w->g);
    for (size_t i = n; i-- > 0;)
        if (same(before[i].counted, counted)) {
            w->compute = before[i].compute, w->costs = before[i].costs, w->update = before[i].update;
            w->flops = before[i].flops, w->tokens = before[i].tokens;
            return 0;
        }
    model_shape shape = costs_shape(row_number(row, "batch_tokens"), w->g->length);
    w->compute = device_compute(row->config.precision, on);
    if (count_shape(row, w->g, on, w->compute, &shape, &w->costs, e) ||
        count_update(row, w->g, on, w->compute, &w->update, e))
        return -1;
    w->flops = update_flops(row, &w->update);
    w->tokens = (double)(row->config.batch_tokens * row->config.gradient_accumulation);
    return 0;
}

static void print_busy(const row_work *w, size_t n)
{
    double sum = 0, timed = 0;
    for (size_t i = 0; i < n; i++)
        if (w[i].timed) sum += w[i].speed.busy, timed++;
    if (timed > 0) printf("busy\t%.17g\n", sum / timed);
}

void estimate_print(const estimate_data *d, const spec *s, const char *device, int64_t threads, bool patient,
                    double limit, const size_t *left, const search_left *searches)
{
    err e = {0};
    size_t found = 0;
    AUTOFREE row_work *work = xcalloc(s->n_rows + 1, sizeof *work);
    bool open = d->open && (patient || !d->missing.text[0]); /* a run needs the data, an estimate only their sizes */
    cpu_threads((int)threads);
    double gpu_free = 0;
    int gpus = open ? device_gpus(device, &gpu_free) : 0;
    if (gpus) printf("gpus\t%d\t%.17g\n", gpus, gpu_free);
    const backend *on = open ? device_open(device, &e) : NULL;
    if (e.text[0]) print_error("unknown", &e);
    for (size_t i = 0; i < s->n_rows && on; i++) {
        err why = {0};
        const spec_row *row = &s->rows[i];
        row_work *w = &work[found];
        *w = (row_work){.row = i, .g = &d->groups[d->of[i]], .speed = {NAN, NAN, NAN, 1}};
        w->to_time = patient ? INFINITY : ceil(TIMED * updates_left(row, left[i], &searches[i]));
        if (!row->run || row->same_as >= 0) continue;
        print_doing(row->name, limit > 0 ? fmin(limit, TRACING) : TRACING);
        if (!count_work(w, work, found, row, on, &why)) {
            found++;
            print_row("row", s, w, on_device(on), left[i], &searches[i]);
            continue;
        }
        free(w->kind), free(w->counted);
        char kind[40];
        snprintf(kind, sizeof kind, "none\t%zu", i);
        print_error(kind, &why);
    }
    double patience = patient ? fmax(HURRIED, fmin(PATIENT, PLANNING - (ticks() - d->began))) : HURRIED;
    if (on) find_speeds(s, work, found, on, patience, limit);
    if (on && !on_device(on)) print_too_large(s, work, found);
    print_busy(work, found);
    for (size_t i = 0; i < found; i++) {
        print_row("timed", s, &work[i], on_device(on), left[work[i].row], &searches[work[i].row]);
        free(work[i].kind), free(work[i].counted);
    }
}
