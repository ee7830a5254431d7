/* estimate.c - the child side: opens tasks, counts costs of rows, times steps. */
#include "cli/estimate.h"
#include "cli/bench.h"
#include "tensor/cpu/cpu.h"
#include "text/data/dataset.h"
#include "tensor/device/device.h"
#include "network/model/costs.h"
#include "network/plugin/plugin.h"
#include "network/train/train.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE = COSTS_SENTENCE, MOST_TOKENS = 1024, MOST_STEPS = 20 };
static const double HURRIED = 0.1, PATIENT = 3; /* seconds of timing */
static const double PROGRAM = 150e6;            /* bytes of a process besides values and parameters */
/* bytes of a GPU beside these: CUDA's context, cuBLASLt, cuDNN and their workspaces; not measured yet */
static const double GPU_CONTEXT = 1e9;

/* ---- data ---- */

typedef struct { /* rows with the same data and vocabularies */
    char *key;
    int64_t src, tgt; /* sizes of the vocabularies; src 0: decoder-only */
    int64_t length;   /* of a sentence that costs are counted with [tokens] */
} group;

/* The settings that determine data and vocabularies, as one text; the caller frees. */
static char *group_key(const spec_row *row)
{
    static const char *const keys[] = {"task", "vocab", "vocab_size", "lowercase"};
    const char *task = settings_get(&row->placed, "task");
    size_t length = strlen(task);
    str key = {0};
    for (size_t i = 0; i < LENGTH(keys); i++) str_addf(&key, "%s\n", settings_get(&row->placed, keys[i]));
    for (size_t i = 0; i < row->placed.n; i++)
        if (has_prefix(row->placed.at[i].key, task) && row->placed.at[i].key[length] == '.')
            str_addf(&key, "%s=%s\n", row->placed.at[i].key, row->placed.at[i].value);
    return key.s;
}

/* Vocabularies of words and characters are read from the data; subwords, which take minutes to train, count as many as
 * are asked for. */
static int count_vocabs(const ab_task_plugin *t, void *self, const config *c, group *g, err *e)
{
    vocab *src = NULL, *tgt = NULL;
    ab_vocabs asked = {.src = t->src_vocab, .tgt = t->tgt_vocab};
    bool alone = t->flags & AB_DECODER_ONLY;
    if (t->vocabs && alone) t->vocabs(self, &asked);
    g->length = asked.window ? asked.window : SENTENCE;
    bool subwords = c->vocab != TOKENS_WORDS && c->vocab != TOKENS_CHAR &&
                    ((!alone && asked.src == AB_VOCAB_SUBWORD) || asked.tgt == AB_VOCAB_SUBWORD);
    g->src = alone ? 0 : c->vocab_size, g->tgt = c->vocab_size;
    if (subwords) return 0;
    if (dataset_vocabs(t, self, t->flags & AB_SHARED_VOCAB, (vocab_kind)c->vocab, c->vocab_size, c->lowercase != 0,
                       NULL, &src, &tgt, e))
        return -1;
    g->src = src ? vocab_size(src) : 0, g->tgt = vocab_size(tgt);
    if (tgt != src) vocab_free(tgt);
    vocab_free(src);
    return 0;
}

static int open_data(const spec_row *row, const places *p, group *g, err *e)
{
    char words[1024] = "";
    arena a = {0};
    void *self = NULL;
    const plugin *x = plugin_find(AB_TASK, settings_get(&row->placed, "task"), e);
    if (!x) return -1;
    void *cfg = arena_alloc(&a, x->desc.cfg_size + 16);
    ab_env env = {.data_dir = p->data_dir, .seed = 1};
    int bad = x->desc.params && config_bind(&row->placed, x->desc.name, x->desc.params, cfg, &a, e);
    if (!bad && x->iface.task.open(&self, cfg, &host_table, &env, words, sizeof words))
        bad = fail(e, "row %s: task '%s': %s", row->name, x->desc.name, words);
    if (!bad) {
        bad = count_vocabs(&x->iface.task, self, &row->config, g, e);
        x->iface.task.close(self);
    }
    arena_free(&a);
    return bad;
}

/* The group of each row to run; n groups in `groups`. -1 and a message if one cannot be opened. */
static int open_groups(const spec *s, const places *p, group **groups, size_t *n, size_t *of, err *e)
{
    size_t cap = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        if (!s->rows[i].run || s->rows[i].same_as >= 0) continue;
        char *key = group_key(&s->rows[i]);
        for (of[i] = 0; of[i] < *n && !same((*groups)[of[i]].key, key);) of[i]++;
        if (of[i] < *n) {
            free(key);
            continue;
        }
        *groups = grow(*groups, &cap, *n + 1, sizeof **groups);
        (*groups)[(*n)++] = (group){.key = key};
        if (open_data(&s->rows[i], p, &(*groups)[of[i]], e)) return -1;
    }
    return 0;
}

/* ---- costs ---- */

static int64_t number(const spec_row *row, const char *key)
{
    int64_t n = 0;
    const char *text = settings_get(&row->placed, key);
    return text && parse_int(text, &n) ? n : 0;
}

/* Seconds per FLOP of training steps of this row on this machine; NaN and a message if it cannot be timed. */
static double time_steps(const spec_row *row, const group *g, const backend *on, dtype compute, double patience, err *e)
{
    model m = {0};
    recorded r = {0};
    model_costs costs;
    int64_t tokens = number(row, "batch_tokens"), vocab = g->src && g->src < g->tgt ? g->src : g->tgt;
    if (tokens > MOST_TOKENS) tokens = MOST_TOKENS;
    if (tokens < g->length) tokens = g->length;
    if (model_open(&m, &row->placed, g->src, g->tgt, compute, on, e)) return NAN;
    recorded_make(&r, tokens / g->length, g->length, vocab);
    train_step *s = train_step_open(&m, e);
    const double(*sums)[2];
    double began = 0, spent = 0;
    int bad = !s, done = -1; /* not timed: the first step plans and packs */
    for (; !bad && done < MOST_STEPS && spent < patience; done++) {
        if (!done) began = ticks();
        bad = train_step_gradient(s, &r.b[0], done + 2, e) ||
              train_step_update(s, (double)r.b[0].tgt_rows, done + 2, e) || train_step_losses(s, &sums, e) < 0;
        if (done >= 0) spent = ticks() - began;
    }
    model_shape shape = {r.sentences, r.b[0].src_cap, r.b[0].tgt_cap, g->length, g->length};
    if (!bad) bad = model_count_costs(&m, &shape, &costs, e);
    if (s) train_step_close(s);
    recorded_free(&r);
    model_free(&m);
    return bad || done < 1 ? NAN : spent / done / costs_total(&costs);
}

static int count_row(const spec_row *row, const group *g, const backend *on, dtype compute, model_costs *out, err *e)
{
    model m = {0};
    model_shape shape = costs_shape(number(row, "batch_tokens"), g->length);
    if (model_open_to_count(&m, &row->placed, g->src, g->tgt, compute, on, e)) return -1;
    int bad = model_count_costs(&m, &shape, out, e);
    model_free(&m);
    return bad;
}

/* The arena of values has an eighth to spare (plan.c); the parameters have a copy in bf16. */
static double gpu_bytes(const model_costs *c)
{
    return 1.125 * (double)c->values + (double)c->learned + 2.0 * (double)c->parameters + GPU_CONTEXT;
}

static void print_row(const spec *s, size_t i, const group *g, const model_costs *c, double rate, bool device)
{
    const spec_row *row = &s->rows[i];
    double tokens = (g->src ? 2.0 : 1.0) * (double)number(row, "batch_tokens"),
           accumulate = (double)(number(row, "accumulate") ? number(row, "accumulate") : 1);
    double steps = (double)number(row, "steps"), kept = 2 + (double)number(row, "average");
    double disk = 4.0 * (double)c->parameters * (kept + 2), memory = (double)(c->values + c->learned) + PROGRAM,
           gpu = 0;
    /* where the host's memory has the parameters twice while they are read or written, and CUDA's libraries */
    if (device) gpu = gpu_bytes(c), memory = 8.0 * (double)c->parameters + GPU_CONTEXT + PROGRAM;
    double seconds = steps * accumulate * costs_total(c) * rate;
    printf("row\t%zu\t%lld\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\n", i, (long long)c->parameters, costs_total(c) / tokens,
           memory, disk, seconds, gpu);
}

int estimate_print(const spec *s, const places *p, const char *device, int64_t threads, bool patient)
{
    err e = {0};
    group *groups = NULL;
    size_t n = 0, *of = xcalloc(s->n_rows + 1, sizeof *of);
    double rate = NAN;
    if (open_groups(s, p, &groups, &n, of, &e)) {
        for (char *c = e.text; *c; c++)
            if (*c == '\n' || *c == '\t') *c = ' ';
        printf("missing\t%s\n", e.text);
        s = NULL;
    }
    cpu_threads((int)threads);
    double gpu_free = 0;
    int gpus = s ? device_gpus(device, &gpu_free) : 0;
    if (gpus) printf("gpus\t%d\t%.17g\n", gpus, gpu_free);
    const backend *on = s ? device_open(device, &e) : NULL;
    for (size_t i = 0; s && i < s->n_rows && on; i++) {
        dtype compute;
        model_costs costs;
        err why = {0};
        const spec_row *row = &s->rows[i];
        if (!row->run || row->same_as >= 0) continue;
        /* such as n/a */
        if (device_compute(row->config.precision, on, &compute, &why) ||
            count_row(row, &groups[of[i]], on, compute, &costs, &why))
            continue;
        if (isnan(rate)) rate = time_steps(row, &groups[of[i]], on, compute, patient ? PATIENT : HURRIED, &why);
        print_row(s, i, &groups[of[i]], &costs, rate, on_device(on));
        fflush(stdout);
    }
    for (size_t k = 0; k < n; k++) free(groups[k].key);
    free(groups);
    free(of);
    return 0;
}
