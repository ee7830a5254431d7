/* estimate_row.c - the child side: opens tasks, counts costs of rows, times updates, prints a line per row. */
#include "lab/sweep/estimate_child.h"
#include "tensor/cpu/cpu.h"
#include "tensor/device/device.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of timing in all, and of a row. */
static const double HURRIED = 0.5, PATIENT = 12, MOST_OF_ROW = 0.6, LEAST_OF_ROW = 0.05;
static const double PROGRAM = 150e6; /* bytes of a process besides values and parameters */
static const double GPU_CONTEXT =
    1e9; /* bytes of a GPU beside these: CUDA's context, cuBLASLt, cuDNN and their workspaces; not measured yet */
static const double START = 0.05;                  /* seconds of a run besides data, updates and scores */
static const double SUBWORD = 5e-7, SYMBOL = 5e-8; /* seconds to encode a token: a subword; a word or character */
static const double WRITING = 1e9;                 /* bytes per second of checkpoints */
static const double TRACING = 60;                  /* seconds for what takes milliseconds unless a plugin loops */

/* ---- costs ---- */

/* Tells the parent what is done next, and for how many seconds it may take; "" ends the last one. */
static void print_doing(const char *what, double seconds)
{
    printf("doing\t%g\t%s\n", seconds, what);
    fflush(stdout);
}

static int count_row(const spec_row *row, const group *g, const backend *on, dtype compute, model_costs *out, err *e)
{
    model m = {0};
    model_shape shape = costs_shape(row_number(row, "batch_tokens"), g->length);
    if (model_open_to_count(&m, &row->placed, g->src, g->tgt, compute, on, e)) return -1;
    int bad = model_count_costs(&m, &shape, out, e);
    model_free(&m);
    return bad;
}

/* ---- speeds ---- */

typedef struct { /* of a row that can be traced */
    size_t row;
    const group *g;
    char *kind; /* rows of one kind differ in size only */
    dtype compute;
    model_costs costs;
    double flops, tokens; /* of an update */
    row_speed speed;
    bool timed;
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

/* The timed row whose speed is the best guide to this one's: of its kind, then nearest in size. NULL: none. */
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

static void take_speed(row_work *w, const row_work *from)
{
    double step = w->flops / from->flops, token = step * from->tokens / w->tokens;
    w->speed = (row_speed){from->speed.step * step, from->speed.forward * token, from->speed.token * token};
}

/* Times one row of each kind, then others as long as patience lasts; the rest follow from their costs. */
static void find_speeds(const spec *s, row_work *w, size_t n, const backend *on, double patience, double limit)
{
    double began = ticks(), each = fmax(LEAST_OF_ROW, fmin(MOST_OF_ROW, patience / (double)(n + 1)));
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < n; i++) {
            const row_work *guide = w[i].timed ? NULL : guide_of(w, n, &w[i]);
            bool known = guide && same(guide->kind, w[i].kind) &&
                         (!round || (guide->flops == w[i].flops && guide->tokens == w[i].tokens));
            if (w[i].timed || known || (guide && ticks() - began > patience)) continue;
            err why = {0};
            print_doing(s->rows[w[i].row].name, limit);
            w[i].speed = time_row(&s->rows[w[i].row], w[i].g, on, w[i].compute, each, &why);
            w[i].timed = isfinite(w[i].speed.step);
        }
    print_doing("", 0);
    for (size_t i = 0; i < n; i++) {
        const row_work *guide = w[i].timed ? NULL : guide_of(w, n, &w[i]);
        if (guide) take_speed(&w[i], guide);
    }
}

/* ---- a run ---- */

typedef struct { /* seconds */
    double start, training, scoring;
    double updates;
} run_time;

/* A run with these steps; trial: of a search, which decodes dev. */
static run_time time_of_run(const spec_row *row, const row_work *w, double steps, bool trial)
{
    const config *c = &row->config;
    const group *g = w->g;
    const split_size *train = &g->split[AB_TRAIN], *dev = &g->split[AB_DEV], *test = &g->split[AB_TEST];
    double limit = 0, training = steps * w->speed.step;
    err none = {0};
    if (!config_seconds(c->max_time, &limit, &none) && limit > 0 && training > limit)
        steps *= limit / training, training = limit;
    double evaluations = ceil(steps / (double)c->eval_every) + 1, saves = ceil(steps / (double)c->save_every) + 1;
    bool on_dev = trial || c->decode_split != DECODE_TEST || !test->lines,
         on_test = !trial && c->decode_split != DECODE_DEV;
    double scored = (on_dev ? dev->tgt : 0) + (on_test ? test->tgt : 0);
    run_time t = {.start = START + 1.5 * g->seconds + (g->subwords ? SUBWORD : SYMBOL) * (train->src + train->tgt),
                  .training = training,
                  .updates = steps};
    t.scoring = evaluations * dev->tgt * w->speed.forward + saves * (double)w->costs.learned * 1.5 / WRITING;
    t.scoring += g->src ? scored * (double)c->beam_size * w->speed.token : scored * w->speed.forward;
    return t;
}

/* Seconds of the search of a row's settings (search.c), the number of its trials, and their updates. */
static double time_of_search(const spec *s, const spec_row *row, const row_work *w, size_t *trials, double *updates)
{
    size_t rungs = 1, own;
    double seconds = 0;
    *trials = 0, *updates = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t n = 1;
        for (size_t k = 0; k < s->rows[i].n_tunes; k++) n *= (size_t)s->rows[i].tunes[k].n;
        if (s->rows[i].n_tunes && search_rungs(n) > rungs) rungs = search_rungs(n);
    }
    size_t alive = row->n_tunes ? 1 : 0;
    for (size_t k = 0; k < row->n_tunes; k++) alive *= (size_t)row->tunes[k].n;
    own = search_rungs(alive);
    for (size_t rung = rungs - own; rung < rungs && alive; rung++, alive = search_promoted(alive)) {
        run_time t = time_of_run(row, w, fmax(1, (double)(row->config.steps >> (rungs - 1 - rung))), true);
        seconds += (double)alive * (t.start + t.training + t.scoring);
        *trials += alive, *updates += (double)alive * t.updates;
    }
    return seconds;
}

/* The arena of values has an eighth to spare (plan.c); the parameters have a copy in bf16. */
static double gpu_bytes(const model_costs *c)
{
    return 1.125 * (double)c->values + (double)c->learned + 2.0 * (double)c->parameters + GPU_CONTEXT;
}

static void print_row(const spec *s, const row_work *w, bool device)
{
    const spec_row *row = &s->rows[w->row];
    const model_costs *c = &w->costs;
    double tokens = (w->g->src ? 2.0 : 1.0) * (double)row->config.batch_tokens,
           kept = 2 + (double)row->config.average_checkpoints;
    kept += 3 * (double)row->config.keep_states; /* with two slots, as adam has */
    double disk = 4.0 * (double)c->parameters * (kept + 2), memory = (double)(c->values + c->learned) + PROGRAM,
           gpu = 0;
    if (device) /* the host has the parameters twice while they are read or written, and CUDA's libraries */
        gpu = gpu_bytes(c), memory = 8.0 * (double)c->parameters + GPU_CONTEXT + PROGRAM;
    run_time t = time_of_run(row, w, (double)row->config.steps, false);
    size_t trials;
    double tried, search = time_of_search(s, row, w, &trials, &tried);
    printf("row\t%zu\t%lld\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%zu\t%.17g\t%.17g\t%.17g\n", w->row,
           (long long)c->parameters, costs_total(c) / tokens, memory, disk, t.training, t.start + t.scoring, search,
           trials, gpu, w->flops * t.updates, w->flops * tried);
}

static void print_error(const char *kind, const err *e)
{
    printf("%s\t", kind);
    for (const char *c = e->text; *c; c++) putchar(*c == '\n' || *c == '\t' ? ' ' : *c);
    putchar('\n');
}

int estimate_print(const spec *s, const places *p, const char *device, int64_t threads, bool patient, double limit)
{
    err e = {0}, missing = {0};
    group *groups = NULL;
    size_t n = 0, *of = xcalloc(s->n_rows + 1, sizeof *of), found = 0;
    row_work *work = xcalloc(s->n_rows + 1, sizeof *work);
    bool open = !groups_open(s, p, &groups, &n, of, &missing, &e);
    if (!open || missing.text[0]) print_error("missing", open ? &missing : &e);
    open = open && (patient || !missing.text[0]); /* a run needs the data, an estimate only their sizes */
    cpu_threads((int)threads);
    double gpu_free = 0;
    int gpus = open ? device_gpus(device, &gpu_free) : 0;
    if (gpus) printf("gpus\t%d\t%.17g\n", gpus, gpu_free);
    const backend *on = open ? device_open(device, &e) : NULL;
    for (size_t i = 0; i < s->n_rows && on; i++) {
        err why = {0};
        const spec_row *row = &s->rows[i];
        row_work *w = &work[found];
        *w = (row_work){.row = i, .g = &groups[of[i]], .speed = {NAN, NAN, NAN}};
        if (!row->run || row->same_as >= 0) continue;
        print_doing(row->name, limit > 0 ? fmin(limit, TRACING) : TRACING);
        if (device_compute(row->config.precision, on, &w->compute, &why) ||
            count_row(row, w->g, on, w->compute, &w->costs, &why)) {
            char kind[40];
            snprintf(kind, sizeof kind, "none\t%zu", i);
            print_error(kind, &why);
            continue;
        }
        w->flops = update_flops(row, w->g, on, w->compute, &why);
        w->tokens = (double)(row->config.batch_tokens * row->config.gradient_accumulation);
        w->kind = kind_of(row, w->g);
        found++;
    }
    if (on) find_speeds(s, work, found, on, patient ? PATIENT : HURRIED, limit);
    for (size_t i = 0; i < found; i++) print_row(s, &work[i], on_device(on));
    for (size_t i = 0; i < found; i++) free(work[i].kind);
    groups_free(groups, n);
    free(work);
    free(of);
    return 0;
}
