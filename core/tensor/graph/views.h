/* views.h - helpers on a call's views, for kernels of both backends. */
#ifndef ABLATE_VIEWS_H
#define ABLATE_VIEWS_H
#include "tensor/graph/backend.h"
#include <string.h>

static inline int64_t count_of(const view *v) { return v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3]; }
static inline size_t bytes_of(const view *v) { return (size_t)count_of(v) * dtype_size(v->type); }
static inline int64_t rows_of(const view *v) { return v->dim[0] * v->dim[1] * v->dim[2]; }
static inline int64_t width_of(const view *v) { return v->dim[3]; }

/* Stride of each axis in elements, 0 for an axis of length 1. */
static inline void strides_of(const view *v, int64_t stride[4])
{
    int64_t s = 1;
    for (int i = 3; i >= 0; i--) {
        stride[i] = v->dim[i] == 1 ? 0 : s;
        s *= v->dim[i];
    }
}

/* Merges axes that are contiguous in each of n tensors. Returns how many remain; these come last, the others get length
 * 1 and step 0. */
static inline int join_axes(int64_t dim[4], int64_t step[][4], int n)
{
    int at = 4;
    for (int a = 3; a >= 0; a--) {
        if (dim[a] == 1) continue;
        bool goes_on = at < 4;
        for (int i = 0; i < n && goes_on; i++) goes_on = step[i][a] == step[i][at] * dim[at];
        if (goes_on) {
            dim[at] *= dim[a];
            continue;
        }
        dim[--at] = dim[a];
        for (int i = 0; i < n; i++) step[i][at] = step[i][a];
    }
    for (int a = 0; a < at; a++) {
        dim[a] = 1;
        for (int i = 0; i < n; i++) step[i][a] = 0;
    }
    return 4 - at;
}

typedef struct {
    int64_t n, step;
} sum_axis;      /* n: length; step: elements from one index to the next */
typedef struct { /* SUM_TO sums x over the axes `sum`; y has the axes `keep`, in this order */
    sum_axis keep[2], sum[2];
} summed_axes;
/* Merges neighbouring axes that are both summed or both kept; at most two of each kind remain. Returns whether the last
 * axis is summed. */
static inline bool sort_axes(const view *x, const view *y, summed_axes *s)
{
    bool last = true;
    int64_t step = 1;
    int before = -1, kept = 2, summed = 2; /* the kind of the axis after this one; free places in keep and in sum */
    const sum_axis one = {1, 0};
    s->keep[0] = s->keep[1] = s->sum[0] = s->sum[1] = one;
    for (int i = 3; i >= 0; i--) {
        int now = y->dim[i] == 1, *at = now ? &summed : &kept;
        sum_axis *of = now ? s->sum : s->keep;
        if (x->dim[i] == 1) continue;
        if (before < 0) last = now;
        if (now == before)
            of[*at].n *= x->dim[i];
        else
            --*at, of[*at].n = x->dim[i], of[*at].step = step;
        before = now;
        step *= x->dim[i];
    }
    return last;
}

/* A view as a plugin's operation sees it. */
static inline ab_view plugin_view(const view *v)
{
    ab_view w;
    memset(&w, 0, sizeof w);
    w.data = v->data, w.dtype = (int32_t)v->type;
    memcpy(w.dim, v->dim, sizeof w.dim);
    return w;
}

/* Reports that this backend ("the CPU") has no kernel for the type of the output or an input; returns -1. */
static inline int no_kernel_on(const char *where, const call *k, err *e)
{
    char in[96] = "";
    for (int i = 0; i < k->n_in && i < 4; i++) {
        size_t used = strlen(in);
        if (k->in[i].data) snprintf(in + used, sizeof in - used, "%s%s", used ? ", " : "", dtype_name(k->in[i].type));
    }
    return fail(e, "%s has no kernel from %s to %s", where, in, dtype_name(k->out[0].type));
}

/* ---- checks of calls, for both backends: 0, or -1 and e ---- */

static inline int want_function(const call *k, err *e)
{
    if (k->a.MAP.function >= AB_EXP && k->a.MAP.function <= AB_FLOOR) return 0;
    return fail(e, "%s: unknown function number %lld", op_names[k->op], (long long)k->a.MAP.function);
}
static inline int want_factors(const call *k, err *e)
{
    const int64_t *a = k->i.MATMUL.a.dim, *b = k->i.MATMUL.b.dim, *c = k->o.MATMUL.y.dim;
    int turn_a = k->a.MATMUL.transpose_a != 0, turn_b = k->a.MATMUL.transpose_b != 0;
    if (a[3 - turn_a] == b[2 + turn_b] && c[2] == a[2 + turn_a] && c[3] == b[3 - turn_b]) return 0;
    return fail(e, "MATMUL: the shapes of a, b and their product do not match");
}
/* HEADS, MERGE */
static inline int want_sentences(const call *k, const view *heads, err *e)
{
    int64_t sentences = count_of(&k->i.HEADS.offsets) - 1;
    if (sentences == heads->dim[0]) return 0;
    return fail(e, "%s: found offsets of %lld sentences, expected %lld", op_names[k->op], (long long)sentences,
                (long long)heads->dim[0]);
}
static inline int want_cache(const call *k, err *e)
{
    const view *cache = &k->i.KV_CACHE_APPEND.cache, *y = &k->o.KV_CACHE_APPEND.y;
    int64_t rows = y->dim[0], cached = cache->dim[2] ? rows_of(cache) / cache->dim[2] : 0;
    if (width_of(cache) == y->dim[1] * y->dim[3] && cached >= rows && rows_of(&k->i.KV_CACHE_APPEND.ancestors) >= rows)
        return 0;
    return fail(e, "KV_CACHE_APPEND: %lld rows of %lld x %lld numbers do not fit a cache of %lld rows of %lld",
                (long long)rows, (long long)y->dim[1], (long long)y->dim[3], (long long)cached,
                (long long)width_of(cache));
}
static inline int want_state(const call *k, err *e)
{
    const view *state = &k->i.CACHE_REORDER.state;
    int64_t rows = count_of(&k->i.CACHE_REORDER.parents), n = count_of(state);
    if (rows && n % rows == 0 && count_of(&k->o.CACHE_REORDER.y) == n) return 0;
    return fail(e, "CACHE_REORDER: %lld parents do not fit a state of %lld numbers", (long long)rows, (long long)n);
}
static inline int want_count_of(const call *k, const view *to, const view *from, err *e)
{
    if (count_of(to) == count_of(from)) return 0;
    return fail(e, "%s: %lld numbers do not fit into %lld", op_names[k->op], (long long)count_of(from),
                (long long)count_of(to));
}
#endif
