/* attention.c - draws what each head attends to in one sentence, as a page or a figure like 3 to 5 of Vaswani et al.
 * 2017: its softmax's weights, or the keys that any attention plugin's output depends on. */
#include "lab/study/attention.h"
#include "lab/study/predict.h"
#include "network/train/influence.h"
#include "tensor/cpu/cpu.h"
#include "network/decode/beam.h"
#include "network/plugin/plugin.h"
#include "lab/report/attention_view.h"
#include "network/train/train.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the weights ---- */

typedef struct {
    const char *const *tokens;
    size_t n;
} side;

/* Makes tokens readable: a word's first SentencePiece piece loses its mark; other pieces follow a dot. */
static side side_of(const vocab *v, const int32_t *ids, int64_t n, arena *a)
{
    const char **tokens = arena_alloc(a, (size_t)(n + 1) * sizeof *tokens);
    bool pieces = false;
    for (int64_t i = 0; i < n; i++) pieces = pieces || has_prefix(vocab_token(v, ids[i]), VOCAB_BLANK);
    for (int64_t i = 0; i < n; i++) {
        const char *t = vocab_token(v, ids[i]);
        bool begins = has_prefix(t, VOCAB_BLANK);
        tokens[i] = !pieces || *t == '<'
                        ? arena_strdup(a, t)
                        : arena_printf(a, "%s%s", begins ? "" : "·", begins ? t + strlen(VOCAB_BLANK) : t);
    }
    return (side){tokens, (size_t)n};
}

typedef struct {
    attention_map *maps;
    size_t n, cap;
    bool decoder_only;
    arena memory;
} collected;

static void add_part(collected *all, const influence *from, const char *title, const char *stack, const char *part,
                     int64_t layers, side q, side k)
{
    for (int64_t l = 0; l < layers; l++) {
        weights x;
        weights_source source;
        if (!influence_find(from, stack, part, l, &x, &source)) continue;
        size_t heads = x.heads;
        float *w = arena_alloc(&all->memory, heads * q.n * k.n * sizeof *w);
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < q.n; i++)
                memcpy(w + (h * q.n + i) * k.n, x.at + (h * x.rows + i) * x.stride, k.n * sizeof *w);
        all->maps = grow(all->maps, &all->cap, all->n + 1, sizeof *all->maps);
        all->maps[all->n++] =
            (attention_map){title,    l + 1, heads,
                            q.n,      k.n,   q.tokens,
                            k.tokens, w,     source == FROM_SOFTMAX ? NULL : influence_source(source)};
    }
}

/* Runs the sentence pair, or the text (src NULL), through the model and keeps all weights. */
static int collect(model *m, const pairs *p, const vocab *src, const vocab *tgt, collected *all, err *e)
{
    batch b;
    int64_t longest = p->src_longest > p->tgt_longest ? p->src_longest : p->tgt_longest;
    batcher *one = batcher_new(p, &(batch_options){.batch_tokens = longest}, e);
    if (!one || !batcher_next(one, &b)) {
        batcher_free(one);
        return fail(e, "the sentence is empty");
    }
    influence *x = influence_open(m, &b, e);
    int bad = !x;
    if (!bad) {
        side s = src ? side_of(src, b.src_ids, b.src_rows, &all->memory) : (side){0},
             t = side_of(tgt, b.tgt_in, b.tgt_rows, &all->memory);
        if (src) add_part(all, x, "encoder self-attention", "enc", "self", m->cfg.layers_encoder, s, s);
        add_part(all, x, "decoder self-attention", "dec", "self", m->cfg.layers_decoder, t, t);
        if (src) add_part(all, x, "attention to the source", "dec", "cross", m->cfg.layers_decoder, t, s);
        if (!all->n) bad = fail(e, "nothing to show: no output of this attention depends on a key");
    }
    influence_close(x);
    batcher_free(one);
    return bad;
}

/* ---- output ---- */

/* Prints the meaning of each part's weights, by layer if it differs. */
static void print_sources(const collected *all)
{
    for (size_t i = 0, n; i < all->n; i += n) {
        const attention_map *m = &all->maps[i];
        for (n = 1; i + n < all->n && same(m[n].part, m->part) && m[n].influence == m->influence;) n++;
        fprintf(stderr, "%s, layers %lld to %lld: %s%s\n", m->part, (long long)m->layer, (long long)m[n - 1].layer,
                m->influence ? "influence " : "weights of the softmax", m->influence ? m->influence : "");
    }
}

static int find_word(const attention_map *m, const char *word, size_t *at, err *e)
{
    CLEANUP(str_free) str all = {0};
    for (size_t i = 0; i < m->n_queries; i++) {
        if (!strcasecmp(m->queries[i], word)) return *at = i, 0;
        str_addf(&all, "%s%s", i ? " " : "", m->queries[i]);
    }
    fail(e, "--word %s: not among the tokens: %s", word, str_text(&all));
    return -1;
}

static int write_figure(const attention_options *o, const collected *all, err *e)
{
    const char *part = o->part == 2                                         ? "attention to the source"
                       : o->part == 1 || (o->part < 0 && all->decoder_only) ? "decoder self-attention"
                                                                            : "encoder self-attention";
    int64_t layers = 0;
    const attention_map *m = NULL;
    for (size_t i = 0; i < all->n; i++)
        if (same(all->maps[i].part, part) && all->maps[i].layer > layers) layers = all->maps[i].layer;
    int64_t layer = o->layer > 0 ? o->layer : layers > 1 ? layers - 1 : layers;
    for (size_t i = 0; i < all->n; i++)
        if (same(all->maps[i].part, part) && all->maps[i].layer == layer) m = &all->maps[i];
    if (!m)
        return fail(e, "--layer %lld: found no weights of %s there; the last with some is %lld", (long long)layer, part,
                    (long long)layers);
    if (o->head > (int64_t)m->heads) return fail(e, "--head %lld: there are %zu heads", (long long)o->head, m->heads);
    attention_figure f = {.figure = (int)o->figure, .head = o->head > 0 ? (size_t)o->head - 1 : 0};
    f.next = f.head + 1 < m->heads ? f.head + 1 : f.head;
    if (o->word && find_word(m, o->word, &f.token, e)) return -1;
    AUTOFREE char *title = xprintf("%s, layer %lld of %lld%s%s", part, (long long)layer, (long long)layers,
                                   m->influence ? ", influence " : "", m->influence ? m->influence : "");
    f.title = title;
    drawing *d = attention_draw(m, &f);
    int bad = drawing_write(d, o->out, e);
    drawing_free(d);
    return bad;
}

static int write_page(const attention_options *o, const collected *all, const char *target, err *e)
{
    CLEANUP(str_free) str page = {0};
    AUTOFREE attention_map *chosen = xcalloc(all->n, sizeof *chosen);
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        if (o->layer < 0 || all->maps[i].layer == o->layer) chosen[n++] = all->maps[i];
    int bad = n ? 0 : fail(e, "nothing to show: no layer %lld", (long long)o->layer);
    if (!bad) {
        attention_page(chosen, n, o->run, o->text, target, &page);
        bad = file_write(o->out, page.s, page.n, e);
    }
    if (!bad) fprintf(stderr, "%s: %zu KB\n", o->out, (page.n + 1023) / 1024);
    return bad;
}

int attention_show(const attention_options *o, const char *path, err *e)
{
    model m = {0};
    vocab *src, *tgt;
    if (train_load(path, &m, F32, &cpu_backend, &src, &tgt, e)) return -1;
    beam_options b = beam_options_of(&m.cfg);
    char **out = NULL;
    CLEANUP(pairs_free) pairs p = {0};
    collected all = {0};
    const char *target = o->target;
    int bad =
        src || (!target && o->part != 0 && o->part != 2)
            ? 0
            : fail(e, "%s: found a decoder-only model, expected one with a source", target ? "--target" : "--part");
    all.decoder_only = !src;
    if (!bad && src) bad = source_check_reach(&m, src, "--text", o->text, e);
    if (!bad && src) bad = target ? 0 : decode_lines(&m, src, tgt, &o->text, 1, &b, &out, NULL, NULL, e);
    if (!bad && !target) target = src ? out[0] : o->text;
    if (!bad) bad = pairs_encode(&p, &o->text, &target, 1, src, tgt, e);
    if (!bad)
        bad = model_check_reach(&m, p.tgt_longest,
                                src ? "the target has that many tokens, including its end"
                                    : "--text has that many tokens, including its end",
                                e);
    if (!bad) bad = collect(&m, &p, src, tgt, &all, e);
    if (!bad) print_sources(&all);
    if (!bad) bad = o->figure > 0 ? write_figure(o, &all, e) : write_page(o, &all, src ? target : NULL, e);
    free(all.maps);
    arena_free(&all.memory);
    if (out) decoded_free(out, 1);
    model_free(&m);
    vocabs_free(src, tgt);
    return bad;
}
