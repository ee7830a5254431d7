/* attention.c - ablate-bench attention: ATTEND and ATTEND_BACK alone, on packed rows of the recorded lengths.
 * Every batch has its own tensors, so that caches are as cold as in a model. */
#include "bench/program/bench.h"
#include "tensor/device/device.h"
#include <math.h>
#include <stdlib.h>

enum { CHUNK = 1 << 20 }; /* random numbers, copied repeatedly */

typedef struct {
    call forward, backward;
    void *kept[16]; /* memory that the backend allocated */
    int n_kept;
} attention;

typedef struct {
    const backend *b;
    dtype type;
    int64_t heads, d_k;
    char *chunk; /* CHUNK numbers of `type` */
    char *back;  /* a result copied back, to wait for the device */
} place;

static view tensor(attention *x, const place *p, dtype type, int64_t rows, int64_t width, const void *from)
{
    view v = {.dim = {1, 1, rows, width}, .type = type, .param = -1};
    size_t bytes = (size_t)(rows * width) * dtype_size(type), step = CHUNK * dtype_size(type);
    v.data = x->kept[x->n_kept++] = p->b->alloc(bytes + 64);
    if (from) backend_write(p->b, v.data, from, bytes);
    for (size_t at = 0; !from && type == p->type && at < bytes; at += step)
        backend_write(p->b, (char *)v.data + at, p->chunk, bytes - at < step ? bytes - at : step);
    return v;
}

static view offsets(attention *x, const place *p, const int32_t *from, int64_t sentences)
{
    return tensor(x, p, I32, 1, sentences + 1, from);
}

/* Prepares the calls of one batch. Queries are target rows, except the encoder's; keys are source rows, except the
 * decoder's. */
static void attention_open(attention *x, const place *p, const batch *b, const char *role)
{
    bool cross = same(role, "cross"), decoder = same(role, "decoder");
    int64_t width = p->heads * p->d_k, rows = same(role, "encoder") ? b->src_cap : b->tgt_cap,
            keys = decoder ? b->tgt_cap : b->src_cap;
    *x = (attention){0};
    view q = tensor(x, p, p->type, rows, cross ? width : 3 * width, NULL);
    view kv = cross ? tensor(x, p, p->type, keys, 2 * width, NULL) : q;
    view q_off = offsets(x, p, same(role, "encoder") ? b->src_offset : b->tgt_offset, b->n_sentences);
    view k_off = decoder || !cross ? q_off : offsets(x, p, b->src_offset, b->n_sentences);
    view y = tensor(x, p, p->type, rows, width, NULL), lse = tensor(x, p, F32, rows, p->heads, NULL);
    view dy = tensor(x, p, p->type, rows, width, NULL), dq = tensor(x, p, p->type, rows, q.dim[3], NULL);
    view dkv = cross ? tensor(x, p, p->type, keys, kv.dim[3], NULL) : (view){.param = -1};
    attr a = {.ATTEND = {.scale = 1 / sqrt((double)p->d_k)}};
    a.ATTEND.q_column = 0, a.ATTEND.k_column = cross ? 0 : width, a.ATTEND.v_column = cross ? width : 2 * width;
    a.ATTEND.heads = p->heads, a.ATTEND.d_k = a.ATTEND.d_v = p->d_k, a.ATTEND.causal = decoder;
    a.ATTEND.most_keys = decoder ? b->tgt_longest : b->src_longest;
    a.ATTEND.most_queries = same(role, "encoder") ? b->src_longest : b->tgt_longest;
    x->forward = (call){.op = OP_ATTEND,
                        .n_in = 5,
                        .n_out = 2,
                        .in = {q, kv, kv, q_off, k_off},
                        .out = {y, lse},
                        .a = a,
                        .training = true};
    x->backward = (call){.op = OP_ATTEND_BACK,
                         .n_in = 8,
                         .n_out = 2,
                         .in = {q, kv, kv, q_off, k_off, y, lse, dy},
                         .out = {dq, dkv},
                         .a = a,
                         .training = true};
}

static int run_all(const attention *x, size_t n, bool back, const place *p, double *seconds, err *e)
{
    double start = ticks();
    for (size_t i = 0; i < n; i++) {
        const call *k = back ? &x[i].backward : &x[i].forward;
        if (p->b->kernels[k->op](k, e)) return -1;
    }
    if (backend_read(p->b, p->back, (back ? &x[n - 1].backward : &x[n - 1].forward)->out[0].data, 1, e)) return -1;
    *seconds = ticks() - start;
    return 0;
}

/* Returns the median time of a pass over all batches, in milliseconds per batch. */
static int time_calls(const attention *x, size_t n, bool back, const place *p, const bench_options *o, double *ms,
                      err *e)
{
    double seconds, spent = 0, *took = xcalloc((size_t)o->steps + 1, sizeof *took);
    int64_t done = 0;
    int bad = 0;
    for (int64_t i = 0; i < o->warmup && !bad; i++) bad = run_all(x, n, back, p, &seconds, e);
    for (; !bad && done < o->steps && (o->seconds <= 0 || spent < o->seconds / 2); done++) {
        bad = run_all(x, n, back, p, &took[done], e);
        spent += took[done];
    }
    *ms = stats_median(took, (size_t)done) * 1e3 / (double)n;
    free(took);
    return bad;
}

/* Counts the visible scores: a causal query sees itself and earlier keys. */
static double scores_of(const batch *b, const char *role)
{
    double sum = 0;
    for (int64_t i = 0; i < b->n_sentences; i++) {
        double s = b->src_offset[i + 1] - b->src_offset[i], t = b->tgt_offset[i + 1] - b->tgt_offset[i];
        sum += same(role, "cross") ? s * t : same(role, "encoder") ? s * s : t * (t + 1) / 2;
    }
    return sum;
}

static int measure(const recorded *r, const place *p, const bench_options *o, err *e)
{
    attention *x = xcalloc(r->n, sizeof *x);
    double forward = 0, backward = 0, scores = 0;
    for (size_t i = 0; i < r->n; i++) {
        attention_open(&x[i], p, &r->b[i], o->role);
        scores += scores_of(&r->b[i], o->role) / (double)r->n;
    }
    int bad = time_calls(x, r->n, false, p, o, &forward, e) || time_calls(x, r->n, true, p, o, &backward, e);
    double flops = 4 * scores * (double)(p->heads * p->d_k),
           rows = (double)(same(o->role, "encoder") ? r->src_rows : r->tgt_rows) / (double)r->n;
    str device = {0};
    json_string(&device, device_description(p->b));
    if (!bad)
        printf("{\"who\":\"ablate\",\"what\":\"attention\",\"role\":\"%s\",\"mode\":\"%s\",\"device\":%s,\"heads\":%"
               "lld,\"d_k\":%lld,"
               "\"batches\":%zu,\"rows\":%.1f,\"scores\":%.1f,\"forward_ms\":%.5f,\"backward_ms\":%.5f,\"forward_"
               "gflops\":%.1f,"
               "\"backward_gflops\":%.1f,\"threads\":%lld}\n",
               o->role, dtype_name(p->type), str_text(&device), (long long)p->heads, (long long)p->d_k, r->n, rows,
               scores, forward, backward, flops / forward * 1e-6, 2.5 * flops / backward * 1e-6, (long long)o->threads);
    str_free(&device);
    for (size_t i = 0; i < r->n; i++)
        for (int k = 0; k < x[i].n_kept; k++) p->b->release(x[i].kept[k]);
    free(x);
    return bad;
}

static void fill(char *at, dtype type, int64_t seed)
{
    rng r = rng_seed((uint64_t)seed, 11);
    for (size_t i = 0; i < CHUNK; i++) {
        union {
            float f;
            uint32_t bits;
        } v = {.f = (float)(2 * rng_uniform(&r) - 1)};
        if (type == F32)
            ((float *)at)[i] = v.f;
        else
            ((uint16_t *)at)[i] = (uint16_t)(v.bits >> 16); /* bf16 by truncation: the values do not matter */
    }
}

int bench_attention(const bench_options *o, err *e)
{
    char back[1];
    place p = {.heads = o->heads, .d_k = o->d_k, .back = back};
    recorded r = {0};
    if (!same(o->role, "encoder") && !same(o->role, "decoder") && !same(o->role, "cross"))
        return fail(e, "--role %s: expected encoder, decoder or cross", o->role);
    if (!(p.b = bench_device(o, &p.type, e)) ||
        bench_read(&r, o->lengths, o->seed, o->tokens, 1000, on_device(p.b) || o->tokens, e))
        return -1;
    p.chunk = xmalloc(CHUNK * dtype_size(p.type));
    fill(p.chunk, p.type, o->seed);
    int bad = measure(&r, &p, o, e);
    free(p.chunk);
    recorded_free(&r);
    return bad;
}
