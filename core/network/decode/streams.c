/* streams.c - decodes all sentences, longest first, in batches that streams take from one queue.
 *
 * Threads that decode different batches need not wait for each other at every operation. Therefore one stream per
 * thread, each with its own tape and caches, decodes many sentences. A single stream, whose operations use all threads,
 * is used for few sentences, on a device, and with a mask, whose states only one thread may advance. */
#include "network/decode/search.h"
#include "base/cleanup.h"
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CPU_BATCH = 64, DEVICE_BATCH = 512 }; /* default numbers of sentences per batch */
/* Limits per batch on the CPU: source tokens (because composed attention needs their square) and bytes of caches. On a
 * device, free memory limits the batches. */
enum { MOST_SOURCE_ROWS = 8192, MOST_CACHE_BYTES = 1 << 29 };
#define DEVICE_SHARE                                                                                                   \
    0.5 /* fraction of free memory; the rest is for other programs and memory that bytes_of_sentence does not count */
enum { WORTH_A_STREAM = 8 }; /* sentences */
/* With ENOUGH_ROWS rows, products with cached weights reach full speed. More rows per thread only push keys and values
 * out of the cache. */
enum { ENOUGH_ROWS = 64, STAY_IN_CACHE = 8 << 20 };

typedef struct {
    int64_t length, index;
} by_length;

typedef struct streams {
    model *m;
    const pairs *p;
    beam_options o; /* o.batch is reduced to the size needed */
    hypothesis *out;
    by_length *order; /* [n], sources that are not empty */
    int64_t n, next;  /* next: the first sentence that no stream has taken */
    int64_t done;
    int n_streams, threads; /* threads: total of all streams */
    double memory;          /* bytes that a batch may use on a device */
    pthread_mutex_t lock;   /* guards next, done, bad, error, stats */
    bool bad;
    err error;
    beam_stats stats;
} streams;

typedef struct {
    streams *all;
    int threads; /* the stream's threads */
} stream;

beam_options beam_options_of(const config *c)
{
    return (beam_options){.beam_size = c->beam_size,
                          .length_penalty = c->length_penalty,
                          .max_extra_tokens = c->max_extra_tokens,
                          .batch = c->decode_batch,
                          .nbest = 1};
}

int64_t beam_batch(const model *m, int64_t batch)
{
    return batch ? batch : on_device(m->backend) ? DEVICE_BATCH : CPU_BATCH;
}

void hypotheses_free(hypothesis *h, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        free(h[i].ids);
        h[i] = (hypothesis){0};
    }
}

/* ---- one stream ---- */

void streams_progress(streams *s, int64_t n)
{
    pthread_mutex_lock(&s->lock);
    s->done += n;
    if (s->o.progress) s->o.progress(s->o.progress_self, s->done, s->p->n);
    pthread_mutex_unlock(&s->lock);
}

/* Upper estimate of the bytes that a sentence of `length` tokens needs on a device: caches or carried sums, the
 * encoder's rows and output, its keys and values in every layer, a step's rows, logits, and the scores of composed
 * attention. */
static double bytes_of_sentence(const streams *s, int64_t length)
{
    const config *c = &s->m->widest;
    double one = (double)dtype_size(s->m->compute), beam = (double)s->o.beam_size, source = (double)length + 1,
           steps = source + (double)s->o.max_extra_tokens;
    double layers = (double)c->layers_decoder, heads = (double)c->heads, width = heads * (double)(c->d_k + c->d_v),
           sums = heads * (double)(c->d_k * c->d_v);
    double row = 8 * (double)c->d_model + 2 * (double)c->d_ff + 2 * width;
    double score = heads * (double)(1 + c->d_k) * sizeof(float); /* additive attention: a vector per (query, key) */
    double encoded = source * (layers * width + (double)c->d_model + row) * one + source * source * score;
    double hypothesis = layers * (steps * width * one + sums * sizeof(float)) + (row + (double)s->m->tgt_vocab) * one +
                        (source + steps) * score + 3 * steps * sizeof(int32_t);
    return encoded + beam * hypothesis;
}

static int64_t rows_of_sentence(const streams *s) { return s->o.block > 1 ? s->o.block : s->o.beam_size; }

/* The number of sentences that fit in a batch whose longest has `length` tokens. */
static int64_t batch_size(const streams *s, int64_t length)
{
    if (on_device(s->m->backend)) {
        double fit = s->memory / bytes_of_sentence(s, length);
        return fit < 1 ? 1 : fit < (double)s->o.batch ? (int64_t)fit : s->o.batch;
    }
    const config *c = &s->m->widest;
    double width = (double)(c->layers_decoder * c->heads * (c->d_k + c->d_v)) * (double)dtype_size(s->m->compute);
    double caches = (double)rows_of_sentence(s) * (double)(length + s->o.max_extra_tokens + 1) * width;
    int64_t n = s->o.batch, by_rows = MOST_SOURCE_ROWS / (length + 1),
            by_bytes = (int64_t)(MOST_CACHE_BYTES / s->n_streams / caches);
    if (!s->o.mask && s->m->params.total <= STAY_IN_CACHE) {
        int64_t enough = ENOUGH_ROWS * s->threads / s->n_streams / rows_of_sentence(s);
        n = n < enough ? n : enough;
    }
    n = n < by_rows ? n : by_rows;
    n = n < by_bytes ? n : by_bytes;
    return n > 1 ? n : 1;
}

/* Takes the next batch. Returns 0 if no batch is left or another stream has failed. */
static int64_t take(streams *s, int64_t *which)
{
    int64_t n = 0;
    pthread_mutex_lock(&s->lock);
    if (!s->bad && s->next < s->n) {
        int64_t most = batch_size(s, s->order[s->next].length), share = (s->n - s->next - 1) / s->n_streams + 1;
        if (most > share) most = share; /* the last batches are equally large, so that all streams end together */
        for (; n < most && s->next < s->n; s->next++) which[n++] = s->order[s->next].index;
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

void beam_stats_add(beam_stats *to, const beam_stats *x)
{
    to->seconds += x->seconds;
    to->sentences += x->sentences;
    to->tokens += x->tokens;
    to->encode_seconds += x->encode_seconds;
    to->step_seconds += x->step_seconds;
    to->select_seconds += x->select_seconds;
    to->steps += x->steps;
    to->rows += x->rows;
    to->traces += x->traces;
    to->blocks += x->blocks;
    to->accepted += x->accepted;
}

static void *run_stream(void *self)
{
    stream *me = self;
    streams *all = me->all;
    err e = {0};
    search s = {.all = all, .m = all->m, .p = all->p, .o = &all->o, .out = all->out};
    AUTOFREE int64_t *which = xmalloc((size_t)all->o.batch * sizeof *which);
    int bad = 0;
    if (all->n_streams > 1) omp_set_num_threads(me->threads);
    search_open(&s);
    for (int64_t n; !bad && (n = take(all, which));)
        bad = (s.o->block > 1 ? blocks_batch : search_batch)(&s, which, n, &e);
    search_close(&s);
    pthread_mutex_lock(&all->lock);
    beam_stats_add(&all->stats, &s.stats);
    if (bad && !all->bad) all->bad = true, all->error = e;
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* ---- all streams ---- */

static int streams_for(const streams *s)
{
    int64_t worth = s->n / WORTH_A_STREAM;
    if (on_device(s->m->backend) || s->o.mask || worth < 2) return 1;
    return (int)(worth < s->threads ? worth : s->threads);
}

static void run_streams(streams *s)
{
    AUTOFREE pthread_t *thread = xcalloc((size_t)s->n_streams, sizeof *thread);
    AUTOFREE stream *each = xcalloc((size_t)s->n_streams, sizeof *each);
    AUTOFREE bool *started = xcalloc((size_t)s->n_streams, sizeof *started);
    for (int i = 0; i < s->n_streams; i++) {
        each[i] = (stream){s, s->threads * (i + 1) / s->n_streams - s->threads * i / s->n_streams};
        if (s->n_streams > 1) started[i] = !pthread_create(&thread[i], NULL, run_stream, &each[i]);
    }
    if (!started[0]) run_stream(&each[0]); /* a single stream, or one whose thread could not be created, runs here */
    for (int i = 0; i < s->n_streams; i++)
        if (started[i]) pthread_join(thread[i], NULL);
    if (s->n_streams > 1) omp_set_num_threads(s->threads);
}

static int longest_first(const void *a, const void *b)
{
    const by_length *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Gives sources without tokens the empty output. */
static void place_in_order(streams *s)
{
    const pairs *p = s->p;
    s->order = xmalloc((size_t)(p->n + 1) * sizeof *s->order);
    for (int64_t i = 0; i < p->n; i++) {
        int64_t length = p->src_at[i + 1] - p->src_at[i] - 1; /* without EOS */
        if (length)
            s->order[s->n++] = (by_length){length, i};
        else
            s->out[i * s->o.nbest] = (hypothesis){.ids = xcalloc(1, sizeof(int32_t)), .complete = true};
    }
    s->done = p->n - s->n;
    qsort(s->order, (size_t)s->n, sizeof *s->order, longest_first);
}

static int check_options(const beam_options *o, err *e)
{
    if (o->beam_size < 1) return fail(e, "beam_size = %lld: expected at least 1", (long long)o->beam_size);
    if (o->nbest < 1 || o->nbest > o->beam_size)
        return fail(e, "nbest = %lld: expected 1 to beam_size = %lld", (long long)o->nbest, (long long)o->beam_size);
    if (!(o->length_penalty >= 0)) return fail(e, "length_penalty = %g: expected at least 0", o->length_penalty);
    if (o->max_extra_tokens < 0)
        return fail(e, "max_extra_tokens = %lld: expected at least 0", (long long)o->max_extra_tokens);
    if (o->batch < 0)
        return fail(e, "a batch of %lld sentences: expected at least 1, or 0 for the default", (long long)o->batch);
    return 0;
}

static int check_block_options(const model *m, const beam_options *o, err *e)
{
    const ab_head_plugin *h = &m->head->iface.head;
    int64_t ahead = h->ahead && h->propose ? h->ahead(m->head_cfg) : 0;
    if (o->block < 2)
        return o->block < 0 ? fail(e, "blocks of %lld tokens: expected at least 0", (long long)o->block) : 0;
    if (o->block > MOST_BLOCK)
        return fail(e, "blocks of %lld tokens: expected at most %d", (long long)o->block, MOST_BLOCK);
    if (o->beam_size != 1 || o->n_others || o->mask)
        return fail(e, "blockwise decoding is greedy: expected a beam of 1, one model and no constraints");
    if (on_device(m->backend)) return fail(e, "blockwise decoding: expected the CPU");
    if (o->block - 1 > ahead)
        return fail(e,
                    "blocks of %lld tokens: head %s proposes %lld tokens after the next one, expected %lld "
                    "(head = multi_token, multi_token.ahead)",
                    (long long)o->block, m->head->desc.name, (long long)ahead, (long long)o->block - 1);
    return 0;
}

int beam_search(model *m, const pairs *sources, const beam_options *o, hypothesis *out, beam_stats *stats, err *e)
{
    double start = ticks();
    if (check_options(o, e) || check_block_options(m, o, e)) return -1;
    if (!model_has_encoder(m)) return fail(e, "beam search over sources: expected a model with an encoder");
    memset(out, 0, (size_t)(sources->n * o->nbest) * sizeof *out);
    if (!sources->n) return 0;
    streams s = {
        .m = m, .p = sources, .o = *o, .out = out, .threads = omp_get_max_threads(), .lock = PTHREAD_MUTEX_INITIALIZER};
    if (on_device(m->backend)) s.memory = DEVICE_SHARE * (double)m->backend->free_memory();
    s.o.batch = beam_batch(m, o->batch);
    place_in_order(&s);
    s.n_streams = streams_for(&s);
    int64_t share = (s.n + s.n_streams - 1) / s.n_streams; /* a batch has at most this many sentences */
    if (s.o.batch > share) s.o.batch = share > 1 ? share : 1;
    if (s.n) run_streams(&s);
    pthread_mutex_destroy(&s.lock);
    free(s.order);
    if (s.bad) {
        *e = s.error;
        hypotheses_free(out, sources->n * o->nbest);
        return -1;
    }
    for (int64_t i = 0; i < sources->n; i++) s.stats.tokens += out[i * o->nbest].n + out[i * o->nbest].complete;
    s.stats.sentences = sources->n;
    s.stats.seconds = ticks() - start;
    if (stats) *stats = s.stats;
    return 0;
}
