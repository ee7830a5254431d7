/* params.c - learned values and buffers: names, places in the flat vectors, initial values. */
#include "tensor/graph/params.h"
#include "tensor/graph/backend.h"
#include <stdlib.h>
#include <string.h>

param *params_find(const params *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (same(s->p[i].name, name)) return &s->p[i];
    return NULL;
}

static size_t aligned(size_t count) { return (count + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN; }

/* A parameter's kind, by the plugin function that asks for it and by its shape. Tables of tokens are marked later. */
static ab_parameter_kind kind_of(ab_hook hook, const param *p)
{
    bool vector = p->count == (size_t)p->dim[3];
    if (hook == AB_IN_NORM || hook == AB_IN_ADD_NORM || (vector && p->fill != 0)) return AB_GAIN;
    if (hook >= AB_IN_EMBED && hook <= AB_IN_VALUES) return AB_TABLE;
    return vector ? AB_BIAS : AB_WEIGHT;
}

param *params_add(params *s, const char *name, const int64_t dim[4], double scale, double fill, ab_hook asked_in)
{
    s->p = grow(s->p, &s->cap, s->n + 1, sizeof *s->p);
    param *p = &s->p[s->n++];
    *p = (param){.name = xstrdup(name), .at = s->total, .scale = scale, .fill = fill};
    memcpy(p->dim, dim, sizeof p->dim);
    p->count = (size_t)(dim[0] * dim[1] * dim[2] * dim[3]);
    p->kind = kind_of(asked_in, p);
    s->total += aligned(p->count);
    s->learned = s->total;
    return p;
}

/* ---- places in the flat vectors ---- */

void params_order(params *s, int n_groups)
{
    s->total = 0;
    for (int g = 0; g <= n_groups; g++) { /* the last round is for buffers */
        if (g == n_groups) s->learned = s->total;
        for (size_t i = 0; i < s->n; i++) {
            if (s->p[i].buffer ? g < n_groups : s->p[i].group != g) continue;
            s->p[i].at = s->total;
            s->total += aligned(s->p[i].count);
        }
    }
}

void params_shape_slots(params *s, uint32_t n_slots, slot_shape shape, void *self)
{
    s->n_slots = n_slots;
    for (uint32_t k = 0; k < n_slots; k++) {
        s->slot_total[k] = shape ? 0 : s->learned;
        for (size_t i = 0; i < s->n; i++) {
            param *p = &s->p[i];
            p->slot[k] = (extent){0};
            if (p->buffer) continue;
            p->slot[k] = (extent){.at = p->at, .count = p->count};
            memcpy(p->slot[k].dim, p->dim, sizeof p->dim);
            if (!shape) continue;
            int64_t *d = p->slot[k].dim;
            shape(self, p, k, d);
            p->slot[k].count = (size_t)(d[0] * d[1] * d[2] * d[3]);
            p->slot[k].at = s->slot_total[k];
            s->slot_total[k] += aligned(p->slot[k].count);
        }
    }
}

extent param_extent(const param *p, uint32_t which)
{
    extent x = {.at = p->at, .count = p->count};
    memcpy(x.dim, p->dim, sizeof x.dim);
    return which ? p->slot[which - 1] : x;
}

size_t params_bytes(const params *s, uint32_t which, dtype type)
{
    return (which ? s->slot_total[which - 1] : s->total) * dtype_size(type);
}

/* ---- memory ---- */

static void *zeros(const backend *b, size_t bytes)
{
    void *p = NULL;
    if (on_device(b))
        p = b->alloc(bytes ? bytes : 64);
    else if (posix_memalign(&p, 64, bytes ? bytes : 64))
        out_of_memory(bytes);
    backend_zero(b, p, bytes);
    return p;
}

/* A parameter's values depend on the seed and its name only, not on the order in which layers were traced. */
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

static void alloc_values(params *s, dtype type, const backend *b)
{
    s->type = type;
    s->backend = b;
    s->value = zeros(b, params_bytes(s, 0, type));
    s->frozen = true;
}

void params_alloc_values(params *s, dtype type, const backend *b)
{
    params_shape_slots(s, 0, NULL, NULL);
    alloc_values(s, type, b);
}

void params_alloc(params *s, dtype type, uint32_t n_slots, uint64_t seed, const backend *b)
{
    if (s->n_slots != n_slots) params_shape_slots(s, n_slots, NULL, NULL);
    alloc_values(s, type, b);
    s->grad = zeros(b, params_bytes(s, 0, type));
    for (uint32_t i = 0; i < n_slots; i++) s->slot[i] = zeros(b, params_bytes(s, i + 1, type));
    void *values = on_device(b) ? xcalloc(s->total + 1, dtype_size(type)) : s->value;
    for (size_t i = 0; i < s->n; i++) fill_in(s, &s->p[i], seed, values);
    params_host_done(s, 0, values, true);
}

static void *vector_of(const params *s, uint32_t which) { return which ? s->slot[which - 1] : s->value; }

void *params_host(params *s, uint32_t which, err *e)
{
    if (!on_device(s->backend)) return vector_of(s, which);
    size_t bytes = params_bytes(s, which, s->type);
    void *v = xmalloc(bytes + 1);
    if (!backend_read(s->backend, v, vector_of(s, which), bytes, e)) return v;
    free(v);
    return NULL;
}

void params_host_done(params *s, uint32_t which, void *v, bool changed)
{
    bool copy = on_device(s->backend);
    if (copy && changed) backend_write(s->backend, vector_of(s, which), v, params_bytes(s, which, s->type));
    if (copy) free(v);
    if (!changed || which) return;
    s->version++;
    if (copy && s->backend->sync_bf16) s->backend->sync_bf16(s);
}

int params_set_buffers(params *s, const void *from, int64_t of, err *e)
{
    size_t size = dtype_size(s->type);
    bool any = false;
    for (size_t i = 0; i < s->n; i++) {
        const param *p = &s->p[i];
        if (!p->buffer || !p->sets) continue;
        char *to = (char *)s->value + p->at * size;
        const char *sum = (const char *)from + p->at * size;
        any = true;
        if (of == 1) {
            backend_move(s->backend, to, sum, p->count * size);
            continue;
        }
        void *v = xmalloc(p->count * size + 1);
        int bad = backend_read(s->backend, v, sum, p->count * size, e);
        for (size_t k = 0; k < p->count && !bad; k++) {
            if (s->type == F64)
                ((double *)v)[k] /= (double)of;
            else
                ((float *)v)[k] /= (float)of;
        }
        if (!bad) backend_write(s->backend, to, v, p->count * size);
        free(v);
        if (bad) return -1;
    }
    if (!any) return 0;
    s->version++;
    if (on_device(s->backend) && s->backend->sync_bf16) s->backend->sync_bf16(s);
    return 0;
}

int64_t params_count(const params *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s->n; i++) n += s->p[i].buffer ? 0 : (int64_t)s->p[i].count;
    return n;
}

size_t params_learned(const params *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) n += !s->p[i].buffer;
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
