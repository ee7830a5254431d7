/* sample.c - samples tokens from a decoder-only model. */
#include "network/decode/sample.h"
#include "network/decode/steps.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    double logit;
    int32_t id;
} candidate;

static int likelier_first(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Samples a token by inverting the cumulative distribution of tokens sorted by probability. all: working memory for v
 * candidates. Returns -1 if a logit is not a number. */
static int32_t draw(const void *logits, dtype type, int64_t v, const sample_options *o, candidate *all, rng *r)
{
    int64_t n = 0;
    for (int32_t i = 0; i < v; i++) {
        double x = number_at(logits, type, (size_t)i);
        if (isnan(x)) return -1;
        bool never = i == VOCAB_PAD || i == VOCAB_UNK || i == VOCAB_BOS || (o->endless && i == VOCAB_EOS);
        if (!never && x > -INFINITY) all[n++] = (candidate){x, i};
    }
    qsort(all, (size_t)n, sizeof *all, likelier_first);
    if (!n || !(o->temperature > 0)) return n ? all[0].id : VOCAB_EOS;
    if (o->top_k && n > o->top_k) n = o->top_k;
    double top = all[0].logit, sum = 0;
    for (int64_t i = 0; i < n; i++) sum += all[i].logit = exp((all[i].logit - top) / o->temperature);
    double left = rng_uniform(r) * sum;
    int64_t i = 0;
    while (i + 1 < n && (left -= all[i].logit) >= 0) i++;
    return all[i].id;
}

typedef struct {
    model *m;
    steps s;
    char *logits; /* logits of the last step, on the host */
    int64_t seen; /* tokens read since `begin`, VOCAB_BOS counted */
} reader;

static int begin(reader *x, int64_t capacity, err *e)
{
    x->seen = 0;
    return steps_start(&x->s, NULL, NULL, 1, 1, capacity, e);
}

static int read_token(reader *x, int32_t id, err *e)
{
    const int32_t same_row = 0;
    const void *logits = steps_run(&x->s, &id, e);
    if (!logits ||
        backend_read(x->m->backend, x->logits, logits, (size_t)x->m->tgt_vocab * dtype_size(x->m->compute), e))
        return -1;
    steps_follow(&x->s, &same_row);
    x->seen++;
    return 0;
}

/* Restarts the model on the text from token `from` on. The model first reads the token before `from`, or VOCAB_BOS. */
static int read_text(reader *x, const id_list *text, int64_t from, int64_t capacity, err *e)
{
    if (begin(x, capacity, e) || read_token(x, from ? text->id[from - 1] : VOCAB_BOS, e)) return -1;
    for (int64_t i = from; i < text->n; i++)
        if (read_token(x, text->id[i], e)) return -1;
    return 0;
}

int sample_text(model *m, const sample_options *o, id_list *text, double *seconds, err *e)
{
    if (model_has_encoder(m)) return fail(e, "sampling needs a decoder-only model; this one has an encoder");
    double start = ticks();
    int64_t capacity = o->window ? o->window : text->n + o->tokens, keep = o->window / 2;
    if (!o->window && model_check_reach(m, capacity, "prompt and sampled tokens together may have that length", e))
        return -1;
    rng r = rng_seed(o->seed, o->stream);
    reader x = {.m = m, .logits = xmalloc((size_t)m->tgt_vocab * dtype_size(m->compute))};
    candidate *all = xmalloc((size_t)m->tgt_vocab * sizeof *all);
    steps_open(&x.s, m);
    int64_t first = o->window && text->n >= o->window ? text->n - o->window + 1 : 0;
    int bad = read_text(&x, text, first, capacity, e);
    for (int64_t i = 0; i < o->tokens && !bad; i++) {
        int32_t id = draw(x.logits, m->compute, m->tgt_vocab, o, all, &r);
        if (id < 0 && (bad = fail(e, "sampling: the model's logits are not numbers"))) break;
        if (id == VOCAB_EOS && (!o->window || o->one_line)) break;
        id_list_add(text, id);
        if (id == VOCAB_EOS && o->ended && (bad = o->ended(o->self, text, e))) break;
        if (i + 1 == o->tokens) break;
        bad = x.seen < capacity ? read_token(&x, id, e) : read_text(&x, text, text->n - keep, capacity, e);
    }
    steps_close(&x.s);
    free(x.logits);
    free(all);
    if (seconds) *seconds = ticks() - start;
    return bad;
}
