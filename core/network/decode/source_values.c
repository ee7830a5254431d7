/* source_values.c - keys and values of the sources, from one step tape to the next. */
#include "network/decode/source_values.h"
#include <stdlib.h>
#include <string.h>

/* Which nodes depend on the sources: [c->n]. */
static bool *of_source(const ab_ctx *c)
{
    bool *y = xcalloc((size_t)c->n, sizeof *y);
    for (int32_t i = 1; i < c->n; i++) {
        const node *v = &c->v[i];
        y[i] = v->op == OP_INPUT && v->phase == PHASE_SETUP;
        for (int k = 0; k < v->n_in; k++) y[i] |= y[v->in[k]];
    }
    return y;
}

/* Computed once for the batch, and read in every step. */
static bool is_kept(const ab_ctx *c, const node *v)
{
    return v->op > OP_PART && v->op != OP_RESHAPE && v->phase == PHASE_SETUP && c->v[v->alias].last == c->n;
}

/* A product of each row of the encoder's output alone? Then rows of dropped sentences can be left out. */
static bool by_row(const ab_ctx *c, int32_t i, int64_t rows, const bool *source)
{
    const node *v = &c->v[i];
    if (v->dim[0] != 1 || v->dim[1] != 1 || v->dim[2] != rows) return false;
    if (v->op == OP_INPUT) return same(v->name, "memory");
    if (v->op != OP_LINEAR || v->alias != i) return false;
    for (int k = 0; k < v->n_in; k++)
        if (k != INPUT(LINEAR, x) && source[v->in[k]]) return false;
    return by_row(c, v->i.LINEAR.x, rows, source);
}

/* The next node from i on that is kept and depends on the sources; 0: none. *bad: one that is not by row. */
static int32_t next_value(const ab_ctx *c, int32_t i, int64_t rows, const bool *source, bool *bad)
{
    for (; i < c->n; i++) {
        if (!source[i] || !is_kept(c, &c->v[i])) continue;
        *bad |= !by_row(c, i, rows, source);
        return i;
    }
    return 0;
}

static size_t row_bytes(const node *v) { return (size_t)v->dim[3] * dtype_size(v->type); }

/* Finds them, with a place for so many rows of each. */
static bool find_values(source_values *s, const ab_ctx *c, int64_t all_rows, int64_t rows)
{
    bool *source = of_source(c), bad = false;
    size_t size = 0;
    s->n = 0;
    for (int32_t i = 1; (i = next_value(c, i, all_rows, source, &bad)) && !bad; i++) {
        s->value = grow(s->value, &s->values_cap, s->n + 1, sizeof *s->value);
        s->value[s->n++] = (source_value){.node = i, .row = row_bytes(&c->v[i])};
        size += (size_t)rows * row_bytes(&c->v[i]);
    }
    free(source);
    if (s->size < size) {
        free(s->data);
        s->data = xmalloc(s->size = size);
    }
    return !bad;
}

void source_values_take(source_values *s, const ab_ctx *c, const int32_t *offset, int64_t batch, const bool *keep)
{
    int64_t rows = 0;
    for (int64_t b = 0; b < batch; b++)
        if (!keep || keep[b]) rows += offset[b + 1] - offset[b];
    s->taken = find_values(s, c, offset[batch], rows);
    char *to = s->data;
    for (size_t j = 0; j < s->n && s->taken; j++) {
        source_value *x = &s->value[j];
        const char *from = c->v[x->node].data;
        x->data = to;
        for (int64_t b = 0, end; b < batch; b = end) { /* neighbours at once */
            for (end = b + 1; end < batch && (!keep || keep[end] == keep[b]);) end++;
            size_t bytes = (size_t)(offset[end] - offset[b]) * x->row;
            if (keep && !keep[b]) continue;
            memcpy(to, from + (size_t)offset[b] * x->row, bytes);
            to += bytes;
        }
    }
}

/* Are the tape's values the ones that were taken? */
static bool fits(const source_values *s, const ab_ctx *c, int64_t rows)
{
    bool *source = of_source(c), bad = false;
    size_t n = 0;
    for (int32_t i = 1; (i = next_value(c, i, rows, source, &bad)) && !bad; i++, n++)
        bad = n == s->n || s->value[n].node != i || s->value[n].row != row_bytes(&c->v[i]);
    free(source);
    return !bad && n == s->n;
}

void source_values_give(const source_values *s, ab_ctx *c, int64_t rows)
{
    if (!s->taken || !fits(s, c, rows)) return;
    for (size_t j = 0; j < s->n; j++) {
        node *v = &c->v[s->value[j].node];
        memcpy(v->data, s->value[j].data, (size_t)rows * s->value[j].row);
        v->live = false; /* so no run computes it again */
    }
}

void source_values_free(source_values *s)
{
    free(s->value);
    free(s->data);
    *s = (source_values){0};
}
