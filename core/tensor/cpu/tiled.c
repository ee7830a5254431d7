/* tiled.c - the update of any optimizer plugin in one pass over memory.
 *
 * The update's tape is elementwise over vectors with one number per parameter. Node by node, every intermediate vector
 * would go through memory; tile by tile, intermediates stay in the first-level cache. */
#include "tensor/cpu/cpu.h"
#include <omp.h>
#include <stdlib.h>

typedef struct {
    int n;
    call *at;
    int32_t *id;
} program;

/* Collects STEP's calls in order, but assignments last, so that all reads see old values. */
static program collect(const ab_ctx *c, const run_options *o)
{
    program p = {0, xcalloc((size_t)c->n, sizeof *p.at), xcalloc((size_t)c->n, sizeof *p.id)};
    for (int assignments = 0; assignments < 2; assignments++)
        for (int32_t i = 1; i < c->n; i++) {
            const node *v = &c->v[i];
            if (!tape_is_call(v) || v->phase != PHASE_STEP || (v->op == OP_ASSIGN) != (assignments == 1)) continue;
            tape_call(c, i, o, &p.at[p.n]);
            p.id[p.n++] = i;
        }
    return p;
}

/* The last tile is shorter, so every value must be one number or a vector along some axis. */
static int check_shapes(ab_ctx *c, const tiling *t, const program *p)
{
    for (int i = 0; i < p->n; i++) {
        const call *k = &p->at[i];
        for (int j = 0; j < k->n_in + k->n_out; j++) {
            const view *v = j < k->n_in ? &k->in[j] : &k->out[j - k->n_in];
            const int64_t *d = v->dim, n = d[0] * d[1] * d[2] * d[3];
            bool is_vector = n == t->tile && (d[0] == n || d[1] == n || d[2] == n || d[3] == n);
            char shape[64];
            if (v->data && n != 1 && !is_vector)
                return fail(&c->error, "update: %s has shape %s, expected one number or %lld along one axis",
                            op_names[k->op], shape_text(d, shape), (long long)t->tile);
        }
    }
    return 0;
}

static void point_into_tile(const ab_ctx *c, const tiling *t, char *buffer, int64_t from, int64_t n, int32_t id,
                            view *v)
{
    if (!v->data) return;
    for (int i = 0; i < 4; i++)
        if (v->dim[i] == t->tile) v->dim[i] = n;
    int32_t source = id; /* a reshaped vector counts as the vector */
    while (c->v[source].op == OP_RESHAPE) source = c->v[source].in[0];
    for (int k = 0; k < t->n_vectors; k++)
        if (t->vector[k].id == source) {
            v->data = (char *)t->vector[k].data + (size_t)from * dtype_size(t->type);
            return;
        }
    char *old = v->data;
    bool in_buffer = old >= c->buffer && old < c->buffer + c->buffer_size;
    if (in_buffer && c->v[id].phase == PHASE_STEP) v->data = buffer + (old - c->buffer);
}

static int run_tile(ab_ctx *c, const tiling *t, const program *p, char *buffer, int64_t from, int64_t n, err *e)
{
    for (int i = 0; i < p->n; i++) {
        call k = p->at[i];
        const node *v = &c->v[p->id[i]];
        for (int j = 0; j < k.n_in; j++) point_into_tile(c, t, buffer, from, n, v->in[j], &k.in[j]);
        for (int j = 0; j < k.n_out; j++) point_into_tile(c, t, buffer, from, n, p->id[i] + j, &k.out[j]);
        if (c->backend->kernels[k.op](&k, e)) return fail_in(e, "%s: ", op_names[k.op]);
    }
    return 0;
}

int cpu_run_tiled(ab_ctx *c, const tiling *t, const run_options *o)
{
    program p = collect(c, o);
    int bad = check_shapes(c, t, &p);
    int64_t tiles = bad ? 0 : (t->count + t->tile - 1) / t->tile;
#pragma omp parallel reduction(| : bad)
    {
        char *buffer = c->backend->alloc(c->buffer_size + 64);
        err e = {0};
#pragma omp for schedule(static)
        for (int64_t i = 0; i < tiles; i++) {
            int64_t from = i * t->tile, n = t->count - from < t->tile ? t->count - from : t->tile;
            if (!bad && run_tile(c, t, &p, buffer, from, n, &e)) bad = 1;
        }
        if (e.text[0]) {
#pragma omp critical
            fail(&c->error, "%s", e.text);
        }
        c->backend->release(buffer);
    }
    free(p.at);
    free(p.id);
    return bad ? -1 : 0;
}

/* ---- sums ---- */

enum { CHUNK = 1 << 14 }; /* elements per partial sum; fixed, so that the result does not depend on threads */

#define CHUNK_SUM(T, name)                                                                                             \
    static double name(const T *v, int64_t n)                                                                          \
    {                                                                                                                  \
        double lane[16] = {0}, sum = 0;                                                                                \
        int64_t i = 0;                                                                                                 \
        for (; i + 16 <= n; i += 16)                                                                                   \
            for (int j = 0; j < 16; j++) lane[j] += (double)v[i + j] * (double)v[i + j];                               \
        for (; i < n; i++) lane[i % 16] += (double)v[i] * (double)v[i];                                                \
        for (int j = 0; j < 16; j++) sum += lane[j];                                                                   \
        return sum;                                                                                                    \
    }
CHUNK_SUM(float, squares_float)
CHUNK_SUM(double, squares_double)

double cpu_sum_squares(const void *v, int64_t n, dtype type)
{
    int64_t chunks = (n + CHUNK - 1) / CHUNK;
    double *part = xcalloc((size_t)chunks + 1, sizeof *part), sum = 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < chunks; i++) {
        int64_t from = i * CHUNK, m = n - from < CHUNK ? n - from : CHUNK;
        part[i] = type == F64 ? squares_double((const double *)v + from, m) : squares_float((const float *)v + from, m);
    }
    for (int64_t i = 0; i < chunks; i++) sum += part[i];
    free(part);
    return sum;
}

void cpu_accumulate(void *sum, const void *v, int64_t n, dtype type)
{
    if (type == F64) {
        double *y = sum;
        const double *x = v;
        for (int64_t i = 0; i < n; i++) y[i] += x[i];
        return;
    }
    float *y = sum;
    const float *x = v;
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++) y[i] += x[i];
}
