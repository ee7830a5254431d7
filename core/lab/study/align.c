/* align.c - finds the source words that a translation model attends to for each given target word. Uses
 * the heads' mean weights of one cross-attention layer: the last, or with four layers and more the one before it (Garg
 * et al. 2019, Jointly Learning to Align and Translate with Transformer Models, section 3). A target token's row
 * belongs to the step that predicts it, or with --next to the step that reads it (Chen et al. 2020, Accurate Word
 * Alignment Induction from Neural Machine Translation). A token is aligned with the source token of the largest weight,
 * to none if that is the end; words are aligned if any of their tokens are. */
#include "lab/study/align.h"
#include "base/cleanup.h"
#include "network/train/weights.h"
#include <stdlib.h>
#include <string.h>

/* word[i]: the word of token i, from 0; -1: none. Blanks separate words. A SentencePiece token has a mark for each
 * blank before it. A token of blanks alone belongs to the next word; if tokens are characters, to the one before. */
static void find_words(const vocab *v, const int32_t *ids, int64_t n, int64_t *word)
{
    vocab_kind kind = vocab_kind_of(v);
    const char *blank = kind == TOKENS_CHAR ? " " : VOCAB_BLANK;
    bool apart = true;
    int64_t words = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *t = vocab_token(v, ids[i]);
        apart = apart || kind == TOKENS_WORDS || (kind == TOKENS_WORDPIECE && !has_prefix(t, WORDPIECE_INSIDE));
        for (; kind != TOKENS_WORDS && kind != TOKENS_WORDPIECE && has_prefix(t, blank); t += strlen(blank))
            apart = true;
        if (*t) words += apart, apart = false;
        word[i] = words - (words && (*t || kind == TOKENS_CHAR));
    }
    for (int64_t i = 0; i < n; i++)
        if (word[i] >= words) word[i] = -1; /* blanks at the end */
}

typedef struct {
    int64_t src, tgt;
} alignment_link;

static int by_place(const void *a, const void *b)
{
    const alignment_link *x = a, *y = b;
    if (x->src != y->src) return x->src < y->src ? -1 : 1;
    return (x->tgt > y->tgt) - (x->tgt < y->tgt);
}

/* Finds the source token with the largest mean weight in a row. */
static size_t strongest(const weights *w, size_t sentence, size_t row, size_t keys)
{
    size_t best = 0;
    double most = -1;
    for (size_t k = 0; k < keys; k++) {
        double sum = 0;
        for (size_t h = 0; h < w->heads; h++) sum += w->at[((sentence * w->heads + h) * w->rows + row) * w->stride + k];
        if (sum > most) most = sum, best = k;
    }
    return best;
}

/* Writes "0-0 2-1": pairs of words, counted from 0, source-target. */
static void add_line(const align_settings *o, const batch *b, int64_t i, const weights *w, const vocab *src,
                     const vocab *tgt, str *out)
{
    int64_t n_src = b->src_offset[i + 1] - b->src_offset[i], n_tgt = b->tgt_offset[i + 1] - b->tgt_offset[i], n = 0;
    AUTOFREE int64_t *src_word = xcalloc((size_t)n_src, sizeof *src_word),
                     *tgt_word = xcalloc((size_t)n_tgt, sizeof *tgt_word);
    AUTOFREE alignment_link *all = xcalloc((size_t)n_tgt, sizeof *all);
    find_words(src, b->src_ids + b->src_offset[i], n_src - 1, src_word); /* excludes the ends */
    find_words(tgt, b->tgt_out + b->tgt_offset[i], n_tgt - 1, tgt_word);
    for (int64_t t = 0; t + 1 < n_tgt; t++) {
        size_t key = strongest(w, (size_t)i, (size_t)(t + o->next), (size_t)n_src);
        if ((int64_t)key < n_src - 1 && src_word[key] >= 0 && tgt_word[t] >= 0)
            all[n++] = (alignment_link){src_word[key], tgt_word[t]};
    }
    if (n) qsort(all, (size_t)n, sizeof *all, by_place);
    for (int64_t k = 0; k < n; k++)
        if (!k || by_place(&all[k - 1], &all[k]))
            str_addf(out, "%s%lld-%lld", k ? " " : "", (long long)all[k].src, (long long)all[k].tgt);
}

static int align_batch(const align_settings *o, model *m, const batch *b, const vocab *src, const vocab *tgt,
                       str *lines, err *e)
{
    int64_t layers = m->cfg.layers_decoder, layer = o->layer ? o->layer : layers > 3 ? layers - 1 : layers;
    if (layer > layers)
        return fail(e, "--layer: found %lld, the decoder has layers 1 to %lld", (long long)layer, (long long)layers);
    ab_ctx *c = weights_tape(m, b, e);
    weights w;
    int bad = c ? 0 : -1;
    if (c && !weights_find(c, "dec", "cross", layer - 1, &w))
        bad = fail(e, "this model's cross-attention has no weights over keys in layer %lld", (long long)layer);
    for (int64_t i = 0; i < b->n_sentences && !bad; i++) add_line(o, b, i, &w, src, tgt, &lines[b->example[i]]);
    tape_free(c);
    return bad;
}

int align_pairs(const align_settings *o, model *m, const vocab *src, const vocab *tgt, const pairs *p, str *lines,
                err *e)
{
    enum { SENTENCES = 16 };
    int64_t longest = p->src_longest > p->tgt_longest ? p->src_longest : p->tgt_longest;
    batch_options all = {.batch_tokens = longest * SENTENCES, .max_sentences = SENTENCES};
    batcher *batches = batcher_new(p, &all, e);
    batch b;
    int bad = batches ? 0 : -1;
    while (!bad && batcher_next(batches, &b)) bad = align_batch(o, m, &b, src, tgt, lines, e);
    batcher_free(batches);
    return bad;
}
