/* heads_measure.c - measures a model's heads: attention weights over the dev set, perplexity without each head. */
#include "lab/study/heads.h"
#include "tensor/cpu/cpu.h"
#include "network/plugin/plugin.h"
#include "network/train/train.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FARTHEST = 3 }; /* fixed distances to compare syntax with */

typedef struct {
    measured_run *out;
    model m;
    vocab *src, *tgt;
    const ab_task_plugin *task;
    void *self; /* the task's instance */
    arena memory;
    dataset data;
    pairs dev;          /* the dev set's first sentences: a view */
    int64_t *frequency; /* counts of source ids in the training set */
    double fixed[2 * FARTHEST + 1],
        in_constituents; /* words with a constituent; fixed: by distance, words whose constituent reaches so far */
} measuring;

double head_share(const head_figures *h, enum head_role role, int half)
{
    return h->hits[role][half] / h->counted[role][half];
}

/* ---- opening ---- */

static int open_data(measuring *x, const places *p, const measure_options *o, err *e)
{
    char said[TASK_SAYS];
    const plugin *found = plugin_find(AB_TASK, x->m.cfg.task, e);
    if (!found) return -1;
    ab_env env = {.data_dir = p->data_dir, .seed = (uint64_t)x->out->seed};
    if (model_open_task(found, &x->m.set, &env, &x->memory, &x->self, said, e)) return -1;
    x->task = &found->iface.task;
    if (dataset_build(&x->data, x->task, x->self, x->src, x->tgt, x->m.cfg.max_length, e)) return -1;
    x->dev = x->data.split[AB_DEV];
    if (x->dev.n > o->sentences) x->dev.n = o->sentences;
    if (!x->dev.n) return fail(e, "task '%s' has no dev set", found->desc.name);
    const pairs *train = &x->data.split[AB_TRAIN];
    x->frequency = xcalloc((size_t)(x->src ? vocab_size(x->src) : 0) + 1,
                           sizeof *x->frequency); /* a decoder alone has no source */
    for (int64_t i = 0; train->src && i < train->src_at[train->n]; i++) x->frequency[train->src[i]]++;
    return 0;
}

/* ---- one sentence ---- */

typedef struct {
    size_t n;   /* source tokens, including the end */
    bool *rare; /* [n]: is token i the sentence's rarest (by training count), or as rare as the rarest? */
    size_t n_rare;
    /* [n]: token i's smallest constituent of two words or more, except the whole sentence; low == high: none */
    size_t *low, *high;
    int half;
} sentence;

static void find_rare(const measuring *x, const int32_t *ids, sentence *s)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i + 1 < s->n; i++)
        if (x->frequency[ids[i]] < least) least = x->frequency[ids[i]];
    for (size_t i = 0; i + 1 < s->n; i++) s->n_rare += s->rare[i] = x->frequency[ids[i]] == least;
}

/* Reads constituents from a tree in brackets whose words are the tokens. */
static void find_constituents(const char *tree, sentence *s)
{
    size_t words = 0, depth = 0, start[256];
    AUTOFREE size_t *low = xcalloc(s->n + 1, sizeof *low), *high = xcalloc(s->n + 1, sizeof *high);
    for (const char *c = tree; *c; c++) {
        if (*c == '(' && depth < LENGTH(start)) start[depth++] = words;
        if (*c != ')' || !depth) continue;
        depth--;
        if (c[-1] != ')') words++; /* closes a word's tag */
        for (size_t i = start[depth]; i < words && words - start[depth] >= 2 && i < s->n; i++)
            if (low[i] == high[i]) low[i] = start[depth], high[i] = words;
    }
    for (size_t i = 0; words + 1 == s->n && i < words; i++)
        if (high[i] - low[i] < words - 1)
            s->low[i] = low[i], s->high[i] = high[i]; /* leaves out the whole sentence, with or without its full stop */
}

static sentence describe(measuring *x, const batch *b, int64_t i, arena *a)
{
    sentence s = {.n = (size_t)(b->src_offset[i + 1] - b->src_offset[i]), .half = (int)(b->example[i] & 1)};
    s.rare = arena_alloc(a, s.n + 1);
    s.low = arena_alloc(a, (s.n + 1) * sizeof *s.low), s.high = arena_alloc(a, (s.n + 1) * sizeof *s.high);
    find_rare(x, b->src_ids + b->src_offset[i], &s);
    const char *gold = x->task->reference_line ? x->task->reference_line(x->self, AB_DEV, b->example[i], NULL) : "";
    if (*gold == '(') find_constituents(gold, &s);
    return s;
}

/* Counts by distance how often a head that always attends at this distance would stay in the constituent. */
static void count_fixed(measuring *x, const sentence *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->low[i] == s->high[i]) continue;
        x->in_constituents++;
        for (int d = -FARTHEST; d <= FARTHEST; d++) {
            size_t at = i + (size_t)d; /* below 0 it wraps round, beyond any constituent */
            x->fixed[d + FARTHEST] += d && at >= s->low[i] && at < s->high[i];
        }
    }
}

/* Counts a query for a role that `right` of n keys fit. */
static void count(head_figures *h, enum head_role r, int half, bool hit, size_t right, size_t n)
{
    h->hits[r][half] += hit, h->counted[r][half]++;
    h->chance[r] += (double)right / (double)n;
}

/* Adds a query's weights over n keys; s: its sentence in the encoder's self-attention, else NULL. */
static void add_query(head_figures *h, const float *w, size_t n, size_t i, const sentence *s, int half, bool previous)
{
    double squares = 0, cubes = 0;
    size_t strongest = 0;
    for (size_t k = 0; k < n; k++) {
        double p = w[k];
        if (p > 0) h->entropy -= p * log2(p);
        squares += p * p, cubes += p * p * p;
        if (w[k] > w[strongest]) strongest = k;
    }
    double norm2 = squares - 2 * cubes + squares * squares; /* squared norm of diag(p) - p p' */
    h->gradient += sqrt(norm2 > 0 ? norm2 : 0);
    h->queries++;
    if (previous && i > 0) count(h, ROLE_PREVIOUS, half, strongest == i - 1, 1, n);
    if (!s) return;
    count(h, ROLE_RARE, half, s->rare[strongest], s->n_rare, n);
    if (s->low[i] == s->high[i]) return;
    count(h, ROLE_SYNTAX, half, strongest != i && strongest >= s->low[i] && strongest < s->high[i],
          s->high[i] - s->low[i] - 1, n);
}

/* ---- all sentences ---- */

static head_figures *figures_of(measured_run *r, const char *part, int64_t layer, size_t head)
{
    for (size_t i = 0; i < r->n; i++)
        if (same(r->head[i].part, part) && r->head[i].layer == layer && r->head[i].head == head) return &r->head[i];
    r->head = grow(r->head, &r->cap, r->n + 1, sizeof *r->head);
    r->head[r->n] = (head_figures){.part = part, .layer = layer, .head = head, .cost = NAN};
    return &r->head[r->n++];
}

enum { ENCODER, DECODER, SOURCE, PARTS };
static const struct {
    const char *name, *stack, *part;
} parts[PARTS] = {{"encoder", "enc", "self"}, {"decoder", "dec", "self"}, {"source", "dec", "cross"}};

static void add_batch(measuring *x, const influence *from, const batch *b, const sentence *s)
{
    for (int p = 0; p < PARTS; p++) {
        int64_t layers = p == ENCODER ? x->m.cfg.layers_encoder : x->m.cfg.layers_decoder;
        for (int64_t l = 0; l < layers; l++) {
            weights w;
            weights_source source;
            if (!influence_find(from, parts[p].stack, parts[p].part, l, &w, &source)) continue;
            for (size_t h = 0; h < w.heads; h++) {
                head_figures *f = figures_of(x->out, parts[p].name, l + 1, h + 1);
                f->from = source;
                for (int64_t i = 0; i < b->n_sentences; i++) {
                    const float *at = w.at + ((size_t)i * w.heads + h) * w.rows * w.stride;
                    size_t targets = (size_t)(b->tgt_offset[i + 1] - b->tgt_offset[i]),
                           n = p == ENCODER ? s[i].n : targets;
                    for (size_t q = 0; q < n; q++)
                        add_query(f, at + q * w.stride, p == DECODER ? q + 1 : s[i].n, q, p == ENCODER ? &s[i] : NULL,
                                  s[i].half, p != SOURCE);
                }
            }
        }
    }
}

/* Turns sums into means. */
static void finish(const measuring *x, head_figures *h)
{
    h->entropy /= h->queries, h->gradient = h->from == FROM_SOFTMAX ? h->gradient / h->queries : NAN;
    for (int r = 0; r < HEAD_ROLES; r++) h->chance[r] /= h->counted[r][0] + h->counted[r][1];
    for (int d = 0; d <= 2 * FARTHEST && x->in_constituents > 0; d++)
        h->chance[ROLE_SYNTAX] = fmax(h->chance[ROLE_SYNTAX], x->fixed[d] / x->in_constituents);
}

static int measure_all(measuring *x, err *e)
{
    enum { SENTENCES = 16 };
    int64_t longest = x->dev.src_longest > x->dev.tgt_longest ? x->dev.src_longest : x->dev.tgt_longest;
    batch b;
    batcher *all =
        batcher_new(&x->dev, &(batch_options){.batch_tokens = longest * SENTENCES, .max_sentences = SENTENCES}, e);
    int bad = all ? 0 : -1;
    while (!bad && batcher_next(all, &b)) {
        CLEANUP(arena_free) arena a = {0};
        sentence *s = arena_alloc(&a, (size_t)b.n_sentences * sizeof *s);
        for (int64_t i = 0; i < b.n_sentences; i++) s[i] = describe(x, &b, i, &a), count_fixed(x, &s[i]);
        influence *from = influence_open(&x->m, &b, e);
        bad = from ? 0 : -1;
        if (from) add_batch(x, from, &b, s);
        influence_close(from);
    }
    batcher_free(all);
    if (!bad && !x->out->n) bad = fail(e, "nothing to measure: no output of this attention depends on a key");
    for (size_t i = 0; i < x->out->n && !bad; i++) finish(x, &x->out->head[i]);
    return bad;
}

/* ---- pruning ---- */

/* Measures perplexity with the head's rows of the output matrix set to 0, so that its values have no effect. */
static double without(measuring *x, const head_figures *h, size_t heads, err *e)
{
    char name[64];
    int p = 0;
    while (!same(parts[p].name, h->part)) p++;
    snprintf(name, sizeof name, "%s.%lld.%s.o.w", parts[p].stack, (long long)h->layer - 1, parts[p].part);
    const param *w = params_find(&x->m.params, name);
    if (!w || w->count % heads) return NAN; /* the attention does not end in ab_output of its heads */
    size_t part = w->count / heads;
    float *all = params_host(&x->m.params, 0, e);
    if (!all) return NAN;
    AUTOFREE float *kept = xmalloc(part * sizeof *kept);
    float *rows = all + w->at + (h->head - 1) * part;
    memcpy(kept, rows, part * sizeof *kept);
    memset(rows, 0, part * sizeof *rows);
    params_host_done(&x->m.params, 0, all, true);
    double ppl = train_perplexity(&x->m, &x->dev, NULL, e);
    all = params_host(&x->m.params, 0, e);
    memcpy(all + w->at + (h->head - 1) * part, kept, part * sizeof *kept);
    params_host_done(&x->m.params, 0, all, true);
    return ppl;
}

static int prune(measuring *x, err *e)
{
    measured_run *r = x->out;
    r->ppl = train_perplexity(&x->m, &x->dev, NULL, e);
    for (size_t i = 0; i < r->n && !e->text[0]; i++) {
        size_t heads = 0;
        for (size_t k = 0; k < r->n; k++)
            heads += same(r->head[k].part, r->head[i].part) && r->head[k].layer == r->head[i].layer;
        r->head[i].cost = log(without(x, &r->head[i], heads, e) / r->ppl);
    }
    return e->text[0] ? -1 : 0;
}

int heads_measure(const char *path, const places *p, const measure_options *o, measured_run *out, err *e)
{
    measuring x = {.out = out};
    if (train_load(path, &x.m, F32, &cpu_backend, &x.src, &x.tgt, e)) return -1;
    int bad = open_data(&x, p, o, e) || measure_all(&x, e) || (o->prune && prune(&x, e)) ? -1 : 0;
    dataset_free(&x.data);
    if (x.task) x.task->close(x.self);
    free(x.frequency);
    arena_free(&x.memory);
    model_free(&x.m);
    vocabs_free(x.src, x.tgt);
    return bad;
}
