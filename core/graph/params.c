/* params.c - learned values: names, places in the flat buffers, first values. */
#include "graph/tape.h"
#include <stdlib.h>
#include <string.h>

param *params_find(const params *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (same(s->p[i].name, name)) return &s->p[i];
    return NULL;
}

static bool same_shape(const int64_t a[4], const int64_t b[4]) { return !memcmp(a, b, 4 * sizeof *a); }

ab_t t_param(ab_ctx *c, const char *name, const int64_t dim[4], double scale, double fill)
{
    params *s = c->params;
    param *p = params_find(s, name);
    char found[64], wanted[64];
    if (!p && s->frozen) return tape_fail(c, "parameter '%s' was not there when the model was made", name);
    if (!p) {
        s->p = grow(s->p, &s->cap, s->n + 1, sizeof *s->p);
        p = &s->p[s->n++];
        *p = (param){.name = xstrdup(name), .at = s->total, .scale = scale, .fill = fill};
        memcpy(p->dim, dim, sizeof p->dim);
        p->count = (size_t)(dim[0] * dim[1] * dim[2] * dim[3]);
        s->total += (p->count + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
    }
    if (!same_shape(p->dim, dim))
        return tape_fail(c, "parameter '%s' is asked for as %s but was made as %s", name,
                         shape_text(dim, wanted), shape_text(p->dim, found));
    int32_t index = (int32_t)(p - s->p);
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].op == OP_PARAM && c->v[i].param == index) return (ab_t){i};
    ab_t y = tape_push(c, OP_PARAM, c->compute == F64 ? F64 : F32, dim, 0, NULL, NULL);
    node *v = tape_at(c, y);
    v->param = index;
    v->needs = true;
    v->phase = PHASE_SETUP;
    return y;
}

static void *zeros(const backend *b, size_t bytes)
{
    void *p = NULL;
    if (on_device(b))
        p = b->alloc(bytes);
    else if (posix_memalign(&p, 64, bytes ? bytes : 64))
        out_of_memory(bytes);
    backend_zero(b, p, bytes);
    return p;
}

/* The values of one parameter depend on the seed and its name only, not on the order in which layers were
 * traced. */
static void fill_in(const params *s, const param *p, uint64_t seed, void *values)
{
    rng r = rng_seed(seed, hash64(p->name, strlen(p->name)));
    for (size_t i = 0; i < p->count; i++) {
        double x = p->fill;
        if (p->scale > 0)
            x = p->scale * (2 * rng_uniform(&r) - 1);
        else if (p->scale < 0)
            x = -p->scale * rng_normal(&r);
        if (s->type == F64)
            ((double *)values)[p->at + i] = x;
        else
            ((float *)values)[p->at + i] = (float)x;
    }
}

void params_alloc(params *s, dtype type, uint32_t n_slots, uint64_t seed, const backend *b)
{
    size_t bytes = s->total * dtype_size(type);
    s->type = type;
    s->backend = b;
    s->value = zeros(b, bytes);
    s->grad = zeros(b, bytes);
    for (uint32_t i = 0; i < n_slots; i++) s->slot[i] = zeros(b, bytes);
    void *values = on_device(b) ? xcalloc(s->total + 1, dtype_size(type)) : s->value;
    for (size_t i = 0; i < s->n; i++) fill_in(s, &s->p[i], seed, values);
    s->frozen = true;
    params_host_done(s, 0, values, true);
}

static void *vector_of(const params *s, uint32_t which) { return which ? s->slot[which - 1] : s->value; }

void *params_host(params *s, uint32_t which, err *e)
{
    if (!on_device(s->backend)) return vector_of(s, which);
    size_t bytes = s->total * dtype_size(s->type);
    void *v = xmalloc(bytes + 1);
    if (!backend_read(s->backend, v, vector_of(s, which), bytes, e)) return v;
    free(v);
    return NULL;
}

void params_host_done(params *s, uint32_t which, void *v, bool changed)
{
    bool copy = on_device(s->backend);
    if (copy && changed) backend_write(s->backend, vector_of(s, which), v, s->total * dtype_size(s->type));
    if (copy) free(v);
    if (!changed || which) return;
    s->version++;
    if (copy && s->backend->sync_bf16) s->backend->sync_bf16(s);
}

int64_t params_count(const params *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s->n; i++) n += (int64_t)s->p[i].count;
    return n;
}

void params_free(params *s)
{
    if (s->backend && s->backend->release_params) s->backend->release_params(s);
    for (size_t i = 0; i < s->n; i++) free(s->p[i].name);
    free(s->p);
    void (*release)(void *) = on_device(s->backend) ? s->backend->release : free;
    release(s->value);
    release(s->grad);
    release(s->shadow);
    for (size_t i = 0; i < LENGTH(s->slot); i++) release(s->slot[i]);
    *s = (params){0};
}
