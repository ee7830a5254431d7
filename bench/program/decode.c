/* decode.c - ablate-bench decode: beam search with a model of random values. Such a model never learned when to
 * stop, so its length is forced: the embedding's end-of-sentence row is zero, so that its logit, 0, is never among the
 * best of thousands, and every output is as long as its source (max_extra_tokens 0). The rest is the real search. The
 * sources have the recorded lengths; the length of every output is checked. */
#include "bench/program/bench.h"
#include "network/decode/beam.h"
#include "tensor/device/device.h"
#include <stdlib.h>
#include <string.h>

static int forbid_the_end(model *m, err *e)
{
    const param *p = params_find(&m->params, m->cfg.share_embeddings == SHARE_ALL ? "embed" : "tgt.embed");
    if (!p) return fail(e, "the model has no target embedding");
    float *v = params_host(&m->params, 0, e);
    if (!v) return -1;
    memset(v + p->at + (size_t)(VOCAB_EOS * p->dim[3]), 0, (size_t)p->dim[3] * sizeof *v);
    params_host_done(&m->params, 0, v, true);
    return 0;
}

/* Lists all sentences of the file, in the arena. */
static pairs sources_of(const recorded *r, arena *a)
{
    int32_t *ids = arena_alloc(a, (size_t)r->src_rows * sizeof *ids);
    int64_t *at = arena_alloc(a, (size_t)(r->sentences + 1) * sizeof *at), n = 0, rows = 0;
    for (size_t i = 0; i < r->n; i++) {
        const batch *b = &r->b[i];
        memcpy(ids + rows, b->src_ids, (size_t)b->src_rows * sizeof *ids);
        for (int64_t s = 0; s < b->n_sentences; s++) at[n++] = rows + b->src_offset[s];
        rows += b->src_rows;
    }
    at[n] = rows;
    return (pairs){.n = n, .src = ids, .src_at = at};
}

/* Returns the number of output tokens, or -1 and a message if an output is not as long as its source. */
static int64_t forced_length(const pairs *p, const hypothesis *h, err *e)
{
    int64_t tokens = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t expected = p->src_at[i + 1] - p->src_at[i] - 1;
        if (h[i].n != expected || (expected && h[i].complete))
            return fail(e, "sentence %lld: an output of %lld tokens that %s, expected %lld that do not", (long long)i,
                        (long long)h[i].n, h[i].complete ? "ends" : "does not end", (long long)expected);
        tokens += h[i].n;
    }
    return tokens;
}

typedef struct {
    beam_stats stats;
    int64_t tokens;
    uint64_t outputs; /* hash of all ids in the order of the sentences */
} pass;

static uint64_t hash_of(const hypothesis *h, int64_t n)
{
    uint64_t all = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t two[2] = {all, hash64(h[i].ids, (size_t)h[i].n * sizeof *h[i].ids)};
        all = hash64(two, sizeof two);
    }
    return all;
}

static int decode_all(model *m, const pairs *p, const beam_options *how, pass *out, err *e)
{
    hypothesis *h = xcalloc((size_t)p->n, sizeof *h);
    int bad = beam_search(m, p, how, h, &out->stats, e);
    out->tokens = bad ? -1 : forced_length(p, h, e);
    if (!bad) out->outputs = hash_of(h, p->n);
    if (!bad) hypotheses_free(h, p->n);
    free(h);
    return out->tokens < 0 ? -1 : 0;
}

static int measure(model *m, const pairs *p, const bench_options *o, err *e)
{
    beam_options how = {
        .beam_size = o->beam_size, .length_penalty = 0.6, .batch = o->batch, .nbest = 1, .unscored = true};
    double *took = xcalloc((size_t)o->steps + 1, sizeof *took), spent = 0, late = 0;
    pass now = {0};
    int64_t done = 0;
    int bad = decode_all(m, p, &how, &now, e); /* an untimed pass, which loads kernels */
    double first = now.stats.seconds;
    if (!bad) late = bench_start(o);
    for (; !bad && done < o->steps && (!done || o->seconds <= 0 || spent < o->seconds); done++) {
        bad = decode_all(m, p, &how, &now, e);
        took[done] = now.stats.seconds;
        spent += now.stats.seconds;
    }
    double seconds = stats_median(took, (size_t)done);
    str device = {0};
    json_string(&device, device_description(m->backend));
    if (!bad)
        printf(
            "{\"who\":\"ablate\",\"what\":\"decode\",\"config\":\"%s\",\"mode\":\"%s\",\"device\":%s,\"beam\":%lld,"
            "\"batch\":%lld,"
            "\"sentences\":%lld,\"target_tokens\":%lld,\"passes\":%lld,\"seconds\":%.4f,\"first_s\":%.3f,\"late_s\":%."
            "2f,"
            "\"target_tokens_per_s\":%.1f,\"sentences_per_s\":%.2f,\"steps\":%lld,\"rows\":%lld,\"ms_per_step\":%.4f,"
            "\"encode_s\":%.4f,\"step_s\":%.4f,\"select_s\":%.4f,\"threads\":%lld,\"vocab\":%lld,\"outputs\":\"%"
            "016llx\"}\n",
            o->config, model_precision(m), str_text(&device), (long long)o->beam_size,
            (long long)beam_batch(m, o->batch), (long long)p->n, (long long)now.tokens, (long long)done, seconds, first,
            late, (double)now.tokens / seconds, (double)p->n / seconds, (long long)now.stats.steps,
            (long long)now.stats.rows, seconds * 1e3 / (double)now.stats.steps, now.stats.encode_seconds,
            now.stats.step_seconds, now.stats.select_seconds, (long long)o->threads, (long long)m->tgt_vocab,
            (unsigned long long)now.outputs);
    str_free(&device);
    free(took);
    return bad;
}

int bench_decode(const bench_options *o, err *e)
{
    dtype compute;
    recorded r = {0};
    model m = {0};
    arena a = {0};
    const backend *b = bench_device(o, &compute, e);
    if (!b || bench_model(&m, o, NULL, b, e)) return -1;
    m.params.int8 = same(o->precision, "int8");
    int bad = bench_read(&r, o->lengths, o->seed, o->tokens, m.src_vocab, false, e) || forbid_the_end(&m, e);
    if (!bad) {
        pairs p = sources_of(&r, &a);
        bad = measure(&m, &p, o, e);
    }
    model_free(&m);
    recorded_free(&r);
    arena_free(&a);
    return bad;
}
