/* parse.c - ablate parse: turns sentences on standard input into trees, one per line, in the task's output format. */
#include "network/decode/constrain.h"
#include "tensor/device/device.h"
#include "text/data/input.h"
#include "network/plugin/plugin.h"
#include "lab/study/predict.h"
#include "network/train/train.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    model *m;
    const vocab *src, *tgt;
    const plugin *plugin;
    void *self; /* the task's instance */
    arena memory;
    task_rules rules;
    beam_options beam;
} parser;

typedef struct { /* one input line and its output */
    int64_t number;
    const char *typed;
    char *prepared, *output;
} parse_line;

/* ---- the model's task, without its data ---- */

/* Overrides the run's settings of the task with given ones; config_bind checks them. */
static int override(parser *x, const predict_options *o, err *e)
{
    const char *task = x->plugin->desc.name;
    for (size_t i = 0; i < o->set.n; i++) {
        const char *equals = strchr(o->set.at[i], '=');
        if (!equals || !has_prefix(o->set.at[i], task) || o->set.at[i][strlen(task)] != '.')
            return fail(e, "-s %s: expected %s.KEY=VALUE", o->set.at[i], task);
        char *key = arena_strndup(&x->memory, o->set.at[i], (size_t)(equals - o->set.at[i]));
        settings_set(&x->m->set, key, equals + 1, &x->m->memory);
    }
    return 0;
}

static int open_parser(parser *x, const predict_options *o, const char *path, const places *p, err *e)
{
    char said[TASK_SAYS];
    if (!(x->plugin = plugin_find(AB_TASK, x->m->cfg.task, e))) return -1;
    const ab_task_plugin *task = &x->plugin->iface.task;
    if (!task->encode_input || !task->format_output)
        return fail(e, "%s is a model of the task %s, which outputs plain lines: use `ablate translate`", path,
                    x->plugin->desc.name);
    if (override(x, o, e)) return -1;
    ab_env env = {.data_dir = p->data_dir, .seed = 1, .no_data = 1};
    if (model_open_task(x->plugin, &x->m->set, &env, &x->memory, &x->self, said, e)) return -1;
    x->beam = beam_options_of(&x->m->cfg);
    x->beam.beam_size = o->beam_size ? o->beam_size : 21; /* Vaswani et al. 2017, section 6.3 */
    x->beam.length_penalty = o->length_penalty >= 0 ? o->length_penalty : 0.3;
    if (o->batch) x->beam.batch = o->batch;
    x->beam.others = o->others, x->beam.n_others = o->n_others;
    return task_rules_open(&x->rules, task, x->self, x->src, x->tgt, e);
}

/* ---- lines ---- */

static int decode(parser *x, parse_line *line, int64_t n, beam_stats *stats, task_routes *routes, err *e)
{
    AUTOFREE const char **prepared = xcalloc((size_t)n + 1, sizeof *prepared);
    AUTOFREE char **out = xcalloc((size_t)n + 1, sizeof *out);
    CLEANUP(pairs_free) pairs p = {0};
    for (int64_t i = 0; i < n; i++) prepared[i] = line[i].prepared;
    int bad = pairs_encode(&p, prepared, NULL, n, x->src, x->tgt, e) ||
              task_decode(x->m, &x->rules, &p, prepared, &x->beam, out, stats, routes, e);
    for (int64_t i = 0; i < n && !bad; i++) line[i].output = out[i];
    return bad ? -1 : 0;
}

/* Gives lines that are too long for the model an empty output; returns their number. */
static int64_t leave_long(const parser *x, parse_line *line, int64_t n)
{
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++) {
        err e = {0};
        if (!decode_check_reach(x->m, x->src, line[i].prepared, &x->beam, &e)) continue;
        fprintf(stderr, "ablate parse: line %lld: printed a flat tree: %s\n", (long long)line[i].number, e.text);
        line[i].output = xstrdup("");
        left++;
    }
    return left;
}

/* Lines that already have an output come last. */
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

typedef struct {
    beam_stats stats;
    task_routes ways;
    int64_t left; /* lines parsed as flat trees */
} parse_counts;

static int parse_part(parser *x, const input_part *in, parse_counts *all, err *e)
{
    const ab_task_plugin *task = &x->plugin->iface.task;
    beam_stats stats = {0};
    task_routes ways = {0};
    AUTOFREE parse_line *line = xcalloc(in->n + 1, sizeof *line);
    input_check_text(in, e);
    for (size_t i = 0; i < in->n; i++) {
        line[i] = (parse_line){(int64_t)(in->first + i), in->lines[i],
                               xstrdup(task->encode_input(x->self, in->lines[i])), NULL};
    }
    if (!e->text[0]) {
        int64_t left = leave_long(x, line, (int64_t)in->n);
        qsort(line, in->n, sizeof *line, longest_first);
        decode(x, line, (int64_t)in->n - left, &stats, &ways, e);
        qsort(line, in->n, sizeof *line, by_number);
        all->left += left;
        stats.sentences = (int64_t)in->n;
        beam_stats_add(&all->stats, &stats);
        all->ways.first += ways.first, all->ways.in_beam += ways.in_beam;
        all->ways.again += ways.again, all->ways.refused += ways.refused;
    }
    for (size_t i = 0; i < in->n; i++) {
        if (!e->text[0]) printf("%s\n", task->format_output(x->self, line[i].typed, line[i].output));
        free(line[i].prepared);
        free(line[i].output);
    }
    return e->text[0] || output_flush(e) ? -1 : 0;
}

/* Also returns -1 if some lines became flat trees; then *e has no text. */
static int parse_input(parser *x, const predict_options *o, err *e)
{
    enum { LARGEST_PART = 2048 }; /* lines */
    input_part in = {0};
    parse_counts all = {0};
    size_t most = (size_t)beam_batch(x->m, x->beam.batch);
    int rc;
    while ((rc = input_next(&in, most, e)) == 1) {
        if ((rc = parse_part(x, &in, &all, e))) break;
        most = input_more(&in, most, most > LARGEST_PART ? most : LARGEST_PART);
    }
    input_end(&in);
    if (!rc && all.stats.sentences && !o->quiet)
        fprintf(stderr,
                "%lld sentences, %lld tokens in %.2f s; outputs: %lld best of the beam, %lld others of "
                "the beam, %lld from a second search, %lld repaired; %s\n",
                (long long)all.stats.sentences, (long long)all.stats.tokens, all.stats.seconds,
                (long long)all.ways.first, (long long)all.ways.in_beam, (long long)all.ways.again,
                (long long)(all.ways.refused + all.left), model_precision(x->m));
    return rc || all.left ? -1 : 0;
}

bool predict_is_parsing(const model *m)
{
    const plugin *p = plugin_find(AB_TASK, m->cfg.task, NULL);
    return p && p->iface.task.encode_input && p->iface.task.format_output;
}

int predict_parse(const predict_options *o, const char *path, model *m, const vocab *src, const vocab *tgt,
                  const places *p, err *e)
{
    parser x = {.m = m, .src = src, .tgt = tgt};
    int bad = open_parser(&x, o, path, p, e) || parse_input(&x, o, e);
    if (x.self) x.plugin->iface.task.close(x.self);
    arena_free(&x.memory);
    return bad ? -1 : 0;
}
