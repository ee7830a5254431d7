/* print.c - ab_print: values of a tape for people to read. The copies change no bits of other operations. */
#include "tensor/graph/tape.h"
#include "base/vmath.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static ab_t copy_of(ab_ctx *c, ab_t x)
{
    node v = *tape_at(c, x);
    if (v.type != I32) x = tape_push(c, OP_CAST, v.type, v.dim, 1, &x, NULL);
    tape_at(c, x)->live = true; /* ids need no copy, because nothing overwrites them */
    return x;
}

void t_print(ab_ctx *c, ab_t x, const char *name)
{
    if (!x.id || !c->prints) return;
    printed **at = &c->to_print, *p = arena_alloc(&c->memory, sizeof *p);
    while (*at) at = &(*at)->next;
    *p = (printed){.name = arena_strdup(&c->memory, name), .scope = c->scope, .file = c->file, .line = c->line};
    p->of = x.id;
    p->copy = copy_of(c, x);
    *at = p;
}

void print_gradient(ab_ctx *c, int32_t x)
{
    for (printed *p = c->to_print; p; p = p->next)
        if (p->of == x && c->grad[x] && !p->gradient.id) p->gradient = copy_of(c, (ab_t){c->grad[x]});
}

bool is_printed(const ab_ctx *c, int32_t i)
{
    for (const printed *p = c->to_print; p; p = p->next)
        if (p->copy.id == i || p->gradient.id == i) return true;
    return false;
}

/* ---- writing ---- */

static double number_at(const void *x, dtype type, int64_t i)
{
    return type == F64    ? ((const double *)x)[i]
           : type == F32  ? (double)((const float *)x)[i]
           : type == BF16 ? (double)from_bf16(((const bf16 *)x)[i])
                          : (double)((const int32_t *)x)[i];
}

/* Statistics of the finite numbers: masked scores are -infinity. */
static void describe(const void *x, dtype type, int64_t n, FILE *to)
{
    enum { FIRST = 8 };
    double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
    int64_t finite = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = number_at(x, type, i);
        if (!isfinite(v)) continue;
        finite++, sum += v, squares += v * v;
        low = fmin(low, v), high = fmax(high, v);
    }
    if (finite)
        fprintf(to, "mean %.5g, rms %.5g, from %.5g to %.5g", sum / (double)finite, sqrt(squares / (double)finite), low,
                high);
    fprintf(to, "%s%lld of %lld not finite;", finite ? ", " : "", (long long)(n - finite), (long long)n);
    for (int64_t i = 0; i < n && i < FIRST; i++) fprintf(to, " %.5g", number_at(x, type, i));
    fprintf(to, "%s\n", n > FIRST ? " ..." : "");
}

static int print_value(const ab_ctx *c, ab_t x, FILE *to, err *e)
{
    const node *v = &c->v[x.id];
    int64_t n = node_count(v);
    void *all = xmalloc((size_t)n * dtype_size(v->type) + 1);
    int bad = n ? tape_read(c, x, all, (size_t)n * dtype_size(v->type), e) : 0;
    if (!bad) describe(all, v->type, n, to);
    free(all);
    return bad;
}

int tape_print(const ab_ctx *c, const char *when, FILE *to, err *e)
{
    char shape[64];
    int bad = 0;
    for (const printed *p = c->to_print; p && !bad; p = p->next) {
        const node *v = &c->v[p->copy.id];
        fprintf(to, "%s, %s%s%s %s %s (%s:%d): ", when, p->scope, *p->scope ? " " : "", p->name, dtype_name(v->type),
                shape_text(v->dim, shape), p->file ? path_end(p->file) : "host", p->line);
        bad = print_value(c, p->copy, to, e);
        if (bad || !p->gradient.id) continue;
        fprintf(to, "%s, gradient of %s%s%s: ", when, p->scope, *p->scope ? " " : "", p->name);
        bad = print_value(c, p->gradient, to, e);
    }
    fflush(to);
    return bad;
}
