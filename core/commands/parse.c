/* parse.c - ablate parse: sentences on standard input to what their task shows of its outputs, a line a line:
 * trees. */
#include "decode/constrain.h"
#include "device/device.h"
#include "metric/input.h"
#include "plugin/plugin.h"
#include "run.h"
#include "train/train.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *model, *run, *device;
    const char *set[16]; /* key=value of the task, in place of the run's */
    size_t n_set;
    int64_t beam, batch, threads;
    double alpha;
} parse_options;

typedef struct {
    const backend *on;
    model m;
    vocab *src, *tgt;
    const plugin *plugin;
    void *self; /* the task's */
    arena memory;
    task_rules rules;
    beam_options beam;
} parser;

typedef struct { /* of one input line */
    int64_t number;
    const char *typed;
    char *prepared, *output;
} parse_line;

static const char *const usage =
    "usage: ablate parse --run RUN | --model FILE.safetensors [--beam 21] [--alpha 0.3] [--batch N] "
    "[--threads N] [--device auto|cpu|cuda|cuda:N]\n"
    "                    [-s parsing.KEY=VALUE]... [--plugin-path FOLDERS] [--db FILE] < SENTENCES > TREES\n"
    "sentences: words, or word_TAG, with blanks between them; a line each\n";

static int take(parse_options *o, places *p, const char *name, const char *value, err *e)
{
    struct {
        const char *name;
        int64_t *at, most;
    } numbers[] = {{"--beam", &o->beam, MOST_BEAM}, {"--batch", &o->batch, MOST_BATCH}, {"--threads", &o->threads, MOST_THREADS}};
    if (!value) return fail(e, "%s wants a value", name);
    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (same(name, numbers[i].name)) return take_count(name, value, numbers[i].most, numbers[i].at, e);
    if (same(name, "--alpha"))
        return parse_real(value, &o->alpha) && o->alpha >= 0
                   ? 0
                   : fail(e, "--alpha %s: expected a number from 0", value);
    if (same(name, "-s")) {
        if (o->n_set == LENGTH(o->set)) return fail(e, "more than %zu -s options", LENGTH(o->set));
        o->set[o->n_set++] = value;
    } else if (same(name, "--model"))
        o->model = value;
    else if (same(name, "--run"))
        o->run = value;
    else if (same(name, "--device"))
        o->device = value;
    else if (same(name, "--db"))
        p->db.path = value;
    else if (same(name, "--plugin-path"))
        plugin_add_path(value);
    else
        return fail(e, "unknown option %s", name);
    return 0;
}

/* ---- the model's task, without its data ---- */

/* Settings of the task take the place of the run's; config_bind checks them. */
static int override(parser *x, const parse_options *o, err *e)
{
    const char *task = x->plugin->desc.name;
    for (size_t i = 0; i < o->n_set; i++) {
        const char *equals = strchr(o->set[i], '=');
        if (!equals || !has_prefix(o->set[i], task) || o->set[i][strlen(task)] != '.')
            return fail(e, "-s %s: expected %s.KEY=VALUE", o->set[i], task);
        char *key = arena_strndup(&x->memory, o->set[i], (size_t)(equals - o->set[i]));
        settings_put(&x->m.set, key, equals + 1, &x->m.memory);
    }
    return 0;
}

static int open_parser(parser *x, const parse_options *o, const char *path, const places *p, err *e)
{
    char words[1024] = "";
    dtype compute;
    if (!(x->on = device_open(o->device, e)) || device_model_compute(path, x->on, &compute, e)) return -1;
    if (train_load(path, &x->m, compute, x->on, &x->src, &x->tgt, e)) return -1;
    if (!(x->plugin = plugin_find(AB_TASK, x->m.cfg.task, e))) return -1;
    const ab_plugin *d = &x->plugin->desc;
    const ab_task *task = &x->plugin->iface.task;
    if (!task->encode_input || !task->format_output)
        return fail(e, "%s is a model of the task %s, whose outputs are plain lines: use `ablate translate`",
                    path, d->name);
    if (override(x, o, e)) return -1;
    void *cfg = arena_alloc(&x->memory, d->cfg_size + 16);
    if (d->params && config_bind(&x->m.set, d->name, d->params, cfg, &x->memory, e)) return -1;
    ab_env env = {.data_dir = p->data_dir, .seed = 1, .no_data = 1};
    if (task->open(&x->self, cfg, &host_table, &env, words, sizeof words))
        return fail(e, "task '%s': %s", d->name, words);
    x->beam = beam_options_of(&x->m.cfg);
    x->beam.beam = o->beam;
    x->beam.alpha = o->alpha;
    if (o->batch) x->beam.batch = o->batch;
    return task_rules_open(&x->rules, task, x->self, x->src, x->tgt, e);
}

static void close_parser(parser *x)
{
    if (x->self) x->plugin->iface.task.close(x->self);
    if (x->src) {
        model_free(&x->m);
        if (x->tgt != x->src) vocab_free(x->tgt);
        vocab_free(x->src);
    }
    arena_free(&x->memory);
}

/* ---- lines ---- */

static int decode(parser *x, parse_line *line, int64_t n, beam_stats *stats, task_routes *routes, err *e)
{
    const char **prepared = xcalloc((size_t)n + 1, sizeof *prepared);
    char **out = xcalloc((size_t)n + 1, sizeof *out);
    pairs p = {0};
    for (int64_t i = 0; i < n; i++) prepared[i] = line[i].prepared;
    int bad = pairs_encode(&p, prepared, NULL, n, x->src, x->tgt, e) ||
              task_decode(&x->m, &x->rules, &p, prepared, &x->beam, out, stats, routes, e);
    for (int64_t i = 0; i < n && !bad; i++) line[i].output = out[i];
    pairs_free(&p);
    free(prepared);
    free(out);
    return bad ? -1 : 0;
}

/* The output of lines longer than the model reaches is empty, so that the others still get theirs; how many. */
static int64_t leave_long(const parser *x, parse_line *line, int64_t n)
{
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++) {
        err e = {0};
        if (!decode_check_reach(&x->m, x->src, line[i].prepared, &x->beam, &e)) continue;
        fprintf(stderr, "ablate parse: line %lld is left flat: %s\n", (long long)line[i].number, e.text);
        line[i].output = xstrdup("");
        left++;
    }
    return left;
}

/* Those that have an output already come last. */
static int longest_first(const void *a, const void *b)
{
    const parse_line *p = a, *q = b;
    if (!p->output != !q->output) return p->output ? 1 : -1;
    size_t x = strlen(p->prepared), y = strlen(q->prepared);
    return x != y ? (x < y ? 1 : -1) : p->number < q->number ? -1 : 1;
}
static int by_number(const void *a, const void *b)
{
    int64_t i = ((const parse_line *)a)->number, j = ((const parse_line *)b)->number;
    return i < j ? -1 : i > j;
}

/* -1 also when some lines were left flat; then e has no words. */
static int parse_input(parser *x, err *e)
{
    const ab_task *task = &x->plugin->iface.task;
    str text = {0};
    char **input = NULL;
    size_t n = 0;
    int64_t left = 0;
    beam_stats stats = {0};
    task_routes ways = {0};
    input_lines(&text, &input, &n, e);
    parse_line *line = xcalloc(n + 1, sizeof *line);
    for (size_t i = 0; i < n; i++) {
        int64_t bad = utf8_bad(input[i], strlen(input[i]));
        if (bad >= 0) fail(e, "line %zu: byte %lld is not UTF-8", i + 1, (long long)bad + 1);
        line[i] = (parse_line){(int64_t)i + 1, input[i], xstrdup(task->encode_input(x->self, input[i])), NULL};
    }
    if (!e->text[0]) {
        left = leave_long(x, line, (int64_t)n);
        qsort(line, n, sizeof *line, longest_first);
        decode(x, line, (int64_t)n - left, &stats, &ways, e);
        qsort(line, n, sizeof *line, by_number);
    }
    if (!e->text[0]) {
        for (size_t i = 0; i < n; i++) printf("%s\n", task->format_output(x->self, line[i].typed, line[i].output));
        if (n)
            fprintf(stderr,
                    "%zu sentences, %lld tokens in %.2f s; outputs: %lld best of the beam, %lld others of "
                    "the beam, %lld of a "
                    "second search, %lld repaired; %s\n",
                    n, (long long)stats.tokens, stats.seconds, (long long)ways.first, (long long)ways.in_beam,
                    (long long)ways.again, (long long)(ways.refused + left), dtype_name(x->m.compute));
    }
    for (size_t i = 0; i < n; i++) {
        free(line[i].prepared);
        free(line[i].output);
    }
    free(line);
    free(input);
    str_free(&text);
    return e->text[0] || left ? -1 : 0;
}

int parse_command(int argc, char **argv, const places *given)
{
    places p = *given;
    parse_options o = {.device = "auto", .beam = 21, .alpha = 0.3}; /* Vaswani et al. 2017, section 6.3 */
    parser x = {0};
    err e = {0};
    for (int i = 1; i < argc && !e.text[0]; i += 2)
        take(&o, &p, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &e);
    if (!e.text[0] && !o.model == !o.run) fail(&e, "either --run or --model is wanted");
    if (e.text[0]) {
        fprintf(stderr, "ablate parse: %s\n%s", e.text, usage);
        return 2;
    }
    char *path = input_check(&e) ? NULL : o.model ? xstrdup(o.model) : run_model_path(o.run, &p, &e);
    cpu_threads((int)o.threads);
    int bad = !path || open_parser(&x, &o, path, &p, &e) || parse_input(&x, &e);
    close_parser(&x);
    free(path);
    if (e.text[0]) fprintf(stderr, "ablate parse: %s\n", e.text);
    return bad ? 1 : 0;
}
