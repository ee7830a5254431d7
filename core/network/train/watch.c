/* watch.c - see watch.h. Sums are in double, in order of the elements. */
#include "network/train/watch.h"
#include "network/train/weights.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char name[48]; /* "enc.0.gradient" */
    double value;
} watched;
struct watch {
    model *m;
    void *before; /* [params.learned]: parameters before the update, in host memory */
    watched *at;
    size_t n, cap;
    bool no_entropies; /* entropies could not be computed */
};

watch *watch_open(model *m)
{
    watch *w = xcalloc(1, sizeof *w);
    w->m = m;
    return w;
}

void watch_close(watch *w)
{
    if (!w) return;
    free(w->before);
    free(w->at);
    free(w);
}

static void record(watch *w, const char *stack, int64_t layer, const char *what, double value)
{
    w->at = grow(w->at, &w->cap, w->n + 1, sizeof *w->at);
    snprintf(w->at[w->n].name, sizeof w->at->name, "%s.%lld.%s", stack, (long long)layer, what);
    w->at[w->n++].value = value;
}

static int64_t layers_of(const model *m, bool decoder)
{
    return decoder ? m->cfg.layers_decoder : model_has_encoder(m) ? m->cfg.layers_encoder : 0;
}

/* Reads the first n numbers of a tape's value. The caller frees. Returns NULL and e on failure. */
static void *read_numbers(const ab_ctx *c, ab_t x, size_t n, err *e)
{
    size_t bytes = n * dtype_size(c->v[x.id].type);
    void *all = xmalloc(bytes + 1);
    if (!tape_read(c, x, all, bytes, e)) return all;
    free(all);
    return NULL;
}

/* ---- activations ---- */

/* Records the output's root mean square over real rows; padding rows come last. */
static int record_activation(watch *w, const ab_ctx *c, bool decoder, int64_t layer, int64_t rows, err *e)
{
    char name[48];
    snprintf(name, sizeof name, "%s.%lld" WATCHED, decoder ? "dec" : "enc", (long long)layer);
    ab_t x = tape_find(c, name);
    if (!x.id) return 0;
    size_t n = (size_t)(rows * c->v[x.id].dim[3]);
    void *all = read_numbers(c, x, n, e);
    double squares = 0;
    for (size_t i = 0; all && i < n; i++) squares += pow(number_at(all, c->v[x.id].type, i), 2);
    if (all) record(w, decoder ? "dec" : "enc", layer, "activation", sqrt(squares / (double)n));
    free(all);
    return all ? 0 : -1;
}

/* ---- entropies ---- */

/* Mean entropy of weights [B,H,rows,stride]; queries and keys [sentences + 1] are first rows of the sentences. */
static double entropy_of(const void *p, const node *v, const int32_t *queries, const int32_t *keys, int64_t sentences)
{
    int64_t heads = v->dim[1], rows = v->dim[2], stride = v->dim[3], n = 0;
    double sum = 0;
    for (int64_t b = 0; b < sentences; b++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t q = 0; q < queries[b + 1] - queries[b]; q++, n++)
                for (int64_t k = 0; k < keys[b + 1] - keys[b]; k++) {
                    double x = number_at(p, v->type, (size_t)(((b * heads + h) * rows + q) * stride + k));
                    if (x > 0) sum -= x * log(x);
                }
    return n ? sum / (double)n : 0;
}

static int record_entropy(watch *w, const ab_ctx *c, const batch *b, bool decoder, bool cross, int64_t layer, err *e)
{
    char name[64], what[24];
    snprintf(what, sizeof what, "%s", cross ? "cross" : "self");
    snprintf(name, sizeof name, "%s.%lld.%.8s.weights", decoder ? "dec" : "enc", (long long)layer, what);
    ab_t x = tape_find(c, name);
    if (!x.id) return 0; /* the attention has no softmax over keys */
    void *p = read_numbers(c, x, (size_t)node_count(&c->v[x.id]), e);
    if (!p) return -1;
    snprintf(what, sizeof what, "%s.entropy", cross ? "cross" : "self");
    record(w, decoder ? "dec" : "enc", layer, what,
           entropy_of(p, &c->v[x.id], decoder ? b->tgt_offset : b->src_offset,
                      decoder && !cross ? b->tgt_offset : b->src_offset, b->n_sentences));
    free(p);
    return 0;
}

/* The batch's first sentences, about 1,024 tokens, because composed attention needs much memory. */
static batch beginning(const batch *b)
{
    enum { TOKENS = 1024 };
    batch some = *b;
    int64_t n = 1;
    while (n < b->n_sentences && b->tgt_offset[n + 1] <= TOKENS && (!b->src_rows || b->src_offset[n + 1] <= TOKENS))
        n++;
    some.n_sentences = n;
    some.tgt_rows = b->tgt_offset[n];
    some.src_rows = b->src_rows ? b->src_offset[n] : 0;
    return some;
}

static int record_entropies(watch *w, const batch *b, err *e)
{
    batch some = beginning(b);
    ab_ctx *c = weights_tape(w->m, &some, e);
    int bad = c ? 0 : -1;
    for (int decoder = 0; decoder < 2; decoder++)
        for (int64_t i = 0; i < layers_of(w->m, decoder) && !bad; i++) {
            bad = record_entropy(w, c, &some, decoder, false, i, e);
            if (!bad && decoder && model_has_encoder(w->m)) bad = record_entropy(w, c, &some, true, true, i, e);
        }
    tape_free(c);
    return bad;
}

/* Computes the entropies. If an attention cannot run composed on this device, training continues without them. */
static void keep_entropies(watch *w, const batch *b)
{
    err why = {0};
    size_t n = w->n;
    if (!record_entropies(w, b, &why)) return;
    log_line(LOG_WARN, "watch_layers: no entropies: %s", why.text);
    w->n = n;
    w->no_entropies = true;
}

int watch_before(watch *w, const ab_ctx *tape, const batch *b, err *e)
{
    params *s = &w->m->params;
    size_t bytes = s->learned * dtype_size(s->type);
    int bad = 0;
    w->n = 0;
    if (tape && b->n_sentences) {
        for (int decoder = 0; decoder < 2; decoder++)
            for (int64_t i = 0; i < layers_of(w->m, decoder) && !bad; i++)
                bad = record_activation(w, tape, decoder, i, decoder ? b->tgt_rows : b->src_rows, e);
        if (!bad && !w->no_entropies) keep_entropies(w, b);
    }
    if (bad) return -1;
    w->before = xmalloc(bytes + 1);
    return backend_read(w->m->backend, w->before, s->value, bytes, e);
}

/* ---- gradients and updates ---- */

/* The layer of a parameter in this stack: 3 for "dec.3.ffn.1.w"; -1: no such layer. */
static int64_t layer_of(const char *name, const char *stack)
{
    size_t n = strlen(stack);
    if (strncmp(name, stack, n) || name[n] != '.' || !isdigit((unsigned char)name[n + 1])) return -1;
    return strtoll(name + n + 1, NULL, 10);
}

typedef struct {
    double gradient, change, value; /* sums of squares */
} layer_sums;

static void add_parameter(layer_sums *x, const param *p, dtype type, const void *grad, const void *before,
                          const void *now)
{
    for (size_t i = p->at; i < p->at + p->count; i++) {
        double was = number_at(before, type, i);
        x->gradient += pow(number_at(grad, type, i), 2);
        x->change += pow(number_at(now, type, i) - was, 2);
        x->value += was * was;
    }
}

static void record_layers(watch *w, bool decoder, double scale, const void *grad, const void *now)
{
    const params *s = &w->m->params;
    const char *stack = decoder ? "dec" : "enc";
    int64_t n = layers_of(w->m, decoder);
    layer_sums *x = xcalloc((size_t)n + 1, sizeof *x);
    for (size_t i = 0; i < s->n; i++) {
        int64_t layer = s->p[i].buffer ? -1 : layer_of(s->p[i].name, stack);
        if (layer >= 0 && layer < n) add_parameter(&x[layer], &s->p[i], s->type, grad, w->before, now);
    }
    for (int64_t i = 0; i < n; i++) {
        record(w, stack, i, "gradient", scale * sqrt(x[i].gradient));
        if (x[i].value > 0) record(w, stack, i, "update", sqrt(x[i].change / x[i].value));
    }
    free(x);
}

int watch_after(watch *w, const void *grad, double scale, err *e)
{
    params *s = &w->m->params;
    size_t bytes = s->learned * dtype_size(s->type);
    void *own = xmalloc(bytes + 1), *now = params_host(s, 0, e);
    int bad = !now || backend_read(w->m->backend, own, grad, bytes, e) ? -1 : 0;
    for (int decoder = 0; decoder < 2 && !bad; decoder++) record_layers(w, decoder, scale, own, now);
    if (now) params_host_done(s, 0, now, false);
    free(own);
    free(w->before);
    w->before = NULL;
    return bad;
}

void watch_report(const watch *w, void (*f)(void *self, const char *name, double value), void *self)
{
    for (size_t i = 0; i < w->n; i++) f(self, w->at[i].name, w->at[i].value);
}
