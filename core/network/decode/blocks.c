/* blocks.c - blockwise parallel decoding (Stern, Shazeer and Uszkoreit 2018, "Blockwise parallel decoding for deep
 * autoregressive models", section 4): a step computes k rows per sentence: one for the last token and k - 1 for
 * proposed ones. A row's likeliest token is accepted as long as the next row has read the same token; the last accepted
 * row's proposals form the next block. Outputs equal those of greedy decoding bit for bit: a row's logits do not depend
 * on the other rows of its step, and rows that were not accepted are never ancestors. */
#include "network/decode/search.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t index, limit; /* limit: maximum length of the output, without EOS */
    int32_t *ids;         /* [limit + 1]; the first n are set */
    int64_t n;
    int64_t accepted; /* tokens of the last block, EOS counted */
    double log_prob;
    bool over, complete, bad; /* bad: a logit was not a number */
} line;

typedef struct {
    search *s;
    line *at;                /* [n] */
    int64_t n, k, capacity;  /* k: number of rows per sentence */
    int32_t *tokens, *times; /* [n k] inputs of the next step */
} blocks;

/* Sets time and ancestors of sentence b's rows, for a block that begins at the sentence's n-th token. Tokens accepted
 * earlier are rows 0, 1, ... of their blocks. */
static void place_rows(blocks *x, int64_t b)
{
    const line *l = &x->at[b];
    int64_t first = b * x->k;
    for (int64_t j = 0; j < x->k; j++) {
        int32_t *ancestor = x->s->steps.ancestors + (first + j) * x->capacity;
        bool used = !l->over && l->n + j <= l->limit;
        x->times[first + j] = used ? (int32_t)(l->n + j) : 0;
        for (int64_t i = 0; i < l->accepted && l->accepted <= l->n; i++)
            ancestor[l->n - l->accepted + i] = (int32_t)(first + i);
        for (int64_t i = 0; i < j && used; i++) ancestor[l->n + i] = (int32_t)(first + i);
    }
}

static choice likeliest(const blocks *x, const void *logits, int64_t row, bool unscored, double *log_sum)
{
    const search *s = x->s;
    int64_t v = s->m->tgt_vocab;
    choice c = {0};
    selection best = select_begin(1, &c);
    best.unscored = unscored;
    select_more(&best, (const char *)logits + (size_t)(row * v) * dtype_size(s->m->compute), s->m->compute, v, NULL);
    select_end(&best, log_sum);
    return c;
}

/* Accepts the tokens that greedy decoding would choose, and proposes the next block. */
static void advance_block(blocks *x, int64_t b, const void *logits, const void *const *proposal)
{
    line *l = &x->at[b];
    int64_t row = b * x->k, last = row + x->k - 1;
    double log_sum;
    for (l->accepted = 0;; row++) {
        choice c = likeliest(x, logits, row, search_unscored(x->s), &log_sum);
        l->bad = isnan(log_sum);
        l->complete = c.id == VOCAB_EOS;
        l->over = l->bad || l->complete || l->n == l->limit;
        if (l->complete || !l->over) l->log_prob += c.logit - log_sum, l->accepted++;
        if (l->over) return;
        l->ids[l->n++] = c.id;
        if (row == last || x->tokens[row + 1] != c.id) break;
    }
    x->tokens[b * x->k] = l->ids[l->n - 1];
    for (int64_t j = 1; j < x->k; j++) x->tokens[b * x->k + j] = likeliest(x, proposal[j - 1], row, true, &log_sum).id;
}

static void finish_line(const search *s, line *l)
{
    int64_t length = l->n + l->complete;
    if (search_unscored(s)) l->log_prob = 0;
    s->out[l->index] =
        (hypothesis){l->ids, l->n, l->log_prob / search_penalty(s, length ? length : 1), l->log_prob, l->complete};
    l->ids = NULL; /* the hypothesis owns the ids now */
}

static int run_block(blocks *x, int64_t *live, err *e)
{
    search *s = x->s;
    const void *logits = steps_run_block(&s->steps, x->tokens, x->times, e), *proposal[MOST_BLOCK];
    if (!logits) return -1;
    for (int64_t by = 1; by < x->k; by++) proposal[by - 1] = steps_proposal(&s->steps, by);
    double start = ticks();
    bool bad = false;
    int64_t before = *live;
    s->stats.steps++;
    s->stats.blocks += before;
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t b = 0; b < x->n; b++)
        if (!x->at[b].over) advance_block(x, b, logits, proposal);
    for (int64_t b = 0; b < x->n; b++) {
        line *l = &x->at[b];
        if (!l->ids) continue;
        bad = bad || l->bad;
        s->stats.accepted += l->accepted;
        place_rows(x, b);
        if (l->over && !l->bad) finish_line(s, l), --*live;
    }
    s->stats.select_seconds += ticks() - start;
    if (*live < before) streams_progress(s->all, before - *live);
    return bad ? fail(e, "decoding: the model's logits are not numbers") : 0;
}

int blocks_batch(search *s, const int64_t *which, int64_t n, err *e)
{
    size_t rows = (size_t)(n * s->o->block);
    blocks x = {.s = s,
                .at = xcalloc((size_t)n, sizeof *x.at),
                .n = n,
                .k = s->o->block,
                .tokens = xmalloc(rows * sizeof *x.tokens),
                .times = xcalloc(rows, sizeof *x.times)};
    for (int64_t b = 0; b < n; b++) {
        line *l = &x.at[b];
        l->index = which[b];
        l->limit = s->p->src_at[l->index + 1] - s->p->src_at[l->index] - 1 + s->o->max_extra_tokens;
        l->ids = xmalloc((size_t)(l->limit + 1) * sizeof *l->ids);
        if (l->limit + 1 > x.capacity) x.capacity = l->limit + 1;
    }
    int bad = steps_start(&s->steps, s->p, which, n, x.k, x.capacity, e);
    for (size_t r = 0; r < rows; r++) x.tokens[r] = VOCAB_BOS; /* nothing is proposed yet */
    for (int64_t b = 0; b < n && !bad; b++) place_rows(&x, b);
    for (int64_t live = n; live && !bad;) bad = run_block(&x, &live, e);
    for (int64_t b = 0; b < n; b++) free(x.at[b].ids);
    free(x.at);
    free(x.tokens);
    free(x.times);
    return bad;
}
