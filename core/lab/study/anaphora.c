#include "lab/study/anaphora.h"
#include "network/plugin/plugin.h"
#include "network/train/train.h"
#include "tensor/cpu/cpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct { /* a sentence with pronouns, as the model reads it */
    const char *line;
    row_span *rows;     /* [words] */
    size_t pair, first; /* pair: its first pair in the file; first: index of its first pronoun among those measured */
    size_t n_pairs;
} given;

typedef struct {
    const coreference *file;
    anaphora_figures *out;
    model m;
    vocab *src, *tgt;
    const ab_task_plugin *task;
    void *self; /* the task's instance */
    given *sentence;
    size_t n, cap;
    arena memory;
} measuring;

/* ---- weights ---- */

double anaphora_weight(const float *at, size_t stride, row_span queries, row_span keys)
{
    double sum = 0;
    for (size_t q = queries.from; q < queries.to; q++)
        for (size_t k = keys.from; k < keys.to; k++) sum += (double)at[q * stride + k];
    return sum / (double)(queries.to - queries.from);
}

double anaphora_evenly(row_span queries, row_span keys, bool causal, size_t n)
{
    double sum = 0;
    for (size_t q = queries.from; q < queries.to; q++)
        sum += (double)(keys.to - keys.from) / (double)(causal ? q + 1 : n);
    return sum / (double)(queries.to - queries.from);
}

/* ---- sentences ---- */

bool anaphora_rows(const vocab *v, const char *line, const int32_t *ids, int64_t n_ids, size_t first, row_span *rows,
                   size_t n_words)
{
    CLEANUP(id_list_free) id_list all = {0};
    CLEANUP(arena_free) arena a = {0};
    bool blanks = vocab_kind_of(v) == TOKENS_CHAR, fits = true;
    size_t word = 0;
    for (const char *at = line; *at && fits; word++) {
        size_t length = strcspn(at, " ");
        int64_t from = all.n;
        fits = word < n_words && length && !vocab_encode(v, arena_strndup(&a, at, length), &all, NULL);
        if (fits) rows[word] = (row_span){first + (size_t)from, first + (size_t)all.n};
        at += length;
        if (*at && blanks) fits = fits && !vocab_encode(v, " ", &all, NULL);
        at += *at == ' ';
        fits = fits && all.n > from;
    }
    return fits && word == n_words && all.n == n_ids && !memcmp(all.id, ids, (size_t)n_ids * sizeof *ids);
}

/* Adds the sentence, unless this model cannot read it. */
static int add_sentence(measuring *x, size_t pair, size_t n_pairs, err *e)
{
    const coreference_sentence *s = &x->file->sentence[x->file->pair[pair].sentence];
    const vocab *v = x->src ? x->src : x->tgt;
    CLEANUP(str_free) str text = {0};
    CLEANUP(id_list_free) id_list ids = {0};
    for (size_t i = 0; i < s->n; i++) str_addf(&text, "%s%s", i ? " " : "", s->word[i]);
    const char *line = x->task->encode_input ? x->task->encode_input(x->self, str_text(&text)) : str_text(&text);
    given g = {.line = arena_strdup(&x->memory, line), .pair = pair, .first = x->out->n, .n_pairs = n_pairs};
    g.rows = arena_alloc(&x->memory, s->n * sizeof *g.rows);
    int bad = vocab_encode(v, g.line, &ids, e);
    if (!bad && anaphora_rows(v, g.line, ids.id, ids.n, x->src ? 0 : 1, g.rows, s->n) &&
        !model_check_reach(&x->m, ids.n + 1, "", NULL)) {
        x->sentence = grow(x->sentence, &x->cap, x->n + 1, sizeof g);
        x->sentence[x->n++] = g;
        for (size_t i = 0; i < n_pairs; i++) {
            const anaphor *a = &x->file->pair[pair + i];
            bool unknown = false;
            for (size_t k = g.rows[a->pronoun].from; k < g.rows[a->pronoun].to; k++)
                unknown = unknown || ids.id[k - (x->src ? 0 : 1)] == VOCAB_UNK;
            x->out->unknown += unknown;
            x->out->half[x->out->n++] = (int)(a->sentence & 1);
        }
    } else {
        x->out->left += n_pairs;
    }
    return bad;
}

static int add_sentences(measuring *x, err *e)
{
    const coreference *f = x->file;
    x->out->half = xcalloc(f->n_pairs, sizeof *x->out->half);
    for (size_t i = 0, n; i < f->n_pairs; i += n) {
        for (n = 1; i + n < f->n_pairs && f->pair[i + n].sentence == f->pair[i].sentence;) n++;
        if (add_sentence(x, i, n, e)) return -1;
    }
    if (x->n) return 0;
    return fail(e,
                "none of %zu pronouns can be measured: their sentences are too long for this model, or the model's "
                "tokens cross word boundaries",
                f->n_pairs);
}

/* ---- opening ---- */

/* Does the model read text? Tasks on symbols, or with words on a source side, have a lexicon of their own. */
static bool reads_text(const measuring *x)
{
    ab_vocabs v = {.flags = x->task->flags, .src = x->task->src_vocab, .tgt = x->task->tgt_vocab};
    if (x->task->vocabs) x->task->vocabs(x->self, &v);
    return x->src ? v.src != AB_VOCAB_SYMBOLS && v.src != AB_VOCAB_WORDS : v.tgt != AB_VOCAB_SYMBOLS;
}

static int open_task(measuring *x, const places *p, err *e)
{
    char said[TASK_SAYS];
    const plugin *found = plugin_find(AB_TASK, x->m.cfg.task, e);
    if (!found) return -1;
    ab_env env = {.data_dir = p->data_dir, .seed = 1, .no_data = 1};
    if (model_open_task(found, &x->m.set, &env, &x->memory, &x->self, said, e)) return -1;
    x->task = &found->iface.task;
    if (reads_text(x)) return 0;
    return fail(e, "--coreference: task '%s' reads symbols, not sentences; translation, parsing and lm read sentences",
                found->desc.name);
}

/* ---- all sentences ---- */

static anaphora_head *figures_of(const measuring *x, const char *part, int64_t layer, size_t head)
{
    anaphora_figures *f = x->out;
    for (size_t i = 0; i < f->n_heads; i++)
        if (f->head[i].layer == layer && f->head[i].head == head) return &f->head[i];
    f->head = grow(f->head, &f->cap, f->n_heads + 1, sizeof *f->head);
    f->head[f->n_heads] = (anaphora_head){part, layer, head, FROM_SOFTMAX, xcalloc(f->n, sizeof(anaphora_shares))};
    return &f->head[f->n_heads++];
}

static row_span rows_of(const given *g, word_span words)
{
    return (row_span){g->rows[words.from].from, g->rows[words.to - 1].to};
}

/* at: [rows][stride], a head's weights in a sentence of n tokens, including its end or start. */
static void add_pronouns(const measuring *x, anaphora_head *h, const given *g, const float *at, size_t stride, size_t n)
{
    bool causal = !x->src;
    for (size_t i = 0; i < g->n_pairs; i++) {
        const anaphor *a = &x->file->pair[g->pair + i];
        row_span from = g->rows[a->pronoun], to = rows_of(g, a->antecedent);
        anaphora_shares s = {anaphora_weight(at, stride, from, to), anaphora_evenly(from, to, causal, n), NAN, NAN};
        if (a->other.to) {
            to = rows_of(g, a->other);
            s.other = anaphora_weight(at, stride, from, to), s.other_evenly = anaphora_evenly(from, to, causal, n);
        }
        h->pronoun[g->first + i] = s;
    }
}

static void add_batch(const measuring *x, const influence *from, const batch *b)
{
    bool encoder = x->src;
    int64_t layers = encoder ? x->m.cfg.layers_encoder : x->m.cfg.layers_decoder;
    const int32_t *offset = encoder ? b->src_offset : b->tgt_offset;
    weights w;
    weights_source source;
    for (int64_t l = 0; l < layers; l++) {
        if (!influence_find(from, encoder ? "enc" : "dec", "self", l, &w, &source)) continue;
        for (size_t h = 0; h < w.heads; h++) {
            anaphora_head *f = figures_of(x, encoder ? "encoder" : "decoder", l + 1, h + 1);
            f->from = source;
            for (int64_t i = 0; i < b->n_sentences; i++)
                add_pronouns(x, f, &x->sentence[b->example[i]], w.at + ((size_t)i * w.heads + h) * w.rows * w.stride,
                             w.stride, (size_t)(offset[i + 1] - offset[i]));
        }
    }
}

static int measure_all(measuring *x, err *e)
{
    enum { SENTENCES = 16 };
    CLEANUP(pairs_free) pairs p = {0};
    batch b;
    batcher *all = NULL;
    const char **lines = arena_alloc(&x->memory, x->n * sizeof *lines);
    for (size_t i = 0; i < x->n; i++) lines[i] = x->sentence[i].line;
    int bad = pairs_encode(&p, lines, x->src ? NULL : lines, (int64_t)x->n, x->src, x->tgt, e);
    int64_t longest = p.src_longest > p.tgt_longest ? p.src_longest : p.tgt_longest;
    if (!bad)
        all = batcher_new(&p, &(batch_options){.batch_tokens = longest * SENTENCES, .max_sentences = SENTENCES}, e);
    bad = all ? 0 : -1;
    while (!bad && batcher_next(all, &b)) {
        influence *from = influence_open(&x->m, &b, e);
        bad = from ? 0 : -1;
        if (from) add_batch(x, from, &b);
        influence_close(from);
    }
    batcher_free(all);
    if (!bad && !x->out->n_heads) bad = fail(e, "nothing to measure: no output of this attention depends on a key");
    return bad;
}

int anaphora_measure(const char *path, const places *p, const coreference *file, anaphora_figures *out, err *e)
{
    measuring x = {.file = file, .out = out};
    *out = (anaphora_figures){0};
    if (train_load(path, &x.m, F32, &cpu_backend, &x.src, &x.tgt, e)) return -1;
    int bad = open_task(&x, p, e) || add_sentences(&x, e) || measure_all(&x, e) ? -1 : 0;
    if (x.task) x.task->close(x.self);
    free(x.sentence);
    arena_free(&x.memory);
    model_free(&x.m);
    vocabs_free(x.src, x.tgt);
    if (bad) anaphora_free(out);
    return bad;
}

void anaphora_free(anaphora_figures *f)
{
    for (size_t i = 0; i < f->n_heads; i++) free(f->head[i].pronoun);
    free(f->head);
    free(f->half);
    *f = (anaphora_figures){0};
}
