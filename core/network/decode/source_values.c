/* source_values.c - carries the sources' keys and values from one step tape to the next. */
#include "network/decode/source_values.h"
#include "tensor/graph/together.h"
#include <stdlib.h>
#include <string.h>

/* For each node [c->n]: does the node depend on the sources? */
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

/* Is this node computed once for the batch and read in every step? */
static bool is_kept(const ab_ctx *c, const node *v)
{
    return v->op > OP_PART && v->op != OP_RESHAPE && v->phase == PHASE_SETUP && c->v[v->alias].last == c->n;
}

/* Is row r a linear function of row r of the encoder's output? Then rows of dropped sentences can be left out. */
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

static size_t row_bytes(const node *v) { return (size_t)v->dim[3] * dtype_size(v->type); }

/* Finds the nodes that are kept and depend on the sources. Returns false if one of them is not by_row. */
static bool find_values(source_values *s, const ab_ctx *c, int64_t rows)
{
    bool *source = of_source(c), found = true;
    s->n = 0;
    for (int32_t i = 1; i < c->n && found; i++) {
        if (!source[i] || !is_kept(c, &c->v[i])) continue;
        found = by_row(c, i, rows, source);
        s->value = grow(s->value, &s->values_cap, s->n + 1, sizeof *s->value);
        s->value[s->n++] = (source_value){.node = i, .row = row_bytes(&c->v[i])};
    }
    free(source);
    return found;
}

enum { LINE = 64 };
static size_t whole_lines(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

/* Assigns the values' offsets in `data`, one after another, with `rows` rows per value, aligned to cache lines. */
static void place_values(source_values *s, size_t rows)
{
    size_t size = LINE;
    for (size_t j = 0; j < s->n; j++) size += whole_lines(rows * s->value[j].row);
    if (s->size < size) {
        free(s->data);
        s->data = xmalloc(s->size = size);
    }
    char *at = s->data + (LINE - (uintptr_t)s->data % LINE) % LINE;
    for (size_t j = 0; j < s->n; j++) s->value[j].data = at, at += whole_lines(rows * s->value[j].row);
}

/* Moves the rows of the sentences with keep[b] together. Source and destination may overlap. */
static void move_rows(const source_value *x, const char *from, const int32_t *offset, int64_t batch, const bool *keep)
{
    char *to = x->data;
    for (int64_t b = 0, end; b < batch; b = end) { /* copies adjacent sentences together */
        for (end = b + 1; end < batch && (!keep || keep[end] == keep[b]);) end++;
        size_t bytes = (size_t)(offset[end] - offset[b]) * x->row;
        if (keep && !keep[b]) continue;
        const char *at = from + (size_t)offset[b] * x->row;
        if (at != to) memmove(to, at, bytes);
        to += bytes;
    }
}

void source_values_borrow(source_values *s, const ab_ctx *c, const int32_t *offset, int64_t batch, const bool *keep)
{
    size_t rows = 0;
    for (int64_t b = 0; b < batch; b++)
        if (!keep || keep[b]) rows += (size_t)(offset[b + 1] - offset[b]);
    if (!s->read) {
        s->taken = find_values(s, c, offset[batch]);
        if (s->taken) place_values(s, rows);
    }
    for (size_t j = 0; j < s->n && s->taken; j++)
        move_rows(&s->value[j], s->read ? s->value[j].data : c->v[s->value[j].node].data, offset, batch, keep);
    s->read = false;
}

void source_values_return(source_values *s, ab_ctx *c, int64_t rows)
{
    s->read = false;
    if (!s->taken) return;
    source_values now = {0};
    bool same_ones = find_values(&now, c, rows) && now.n == s->n;
    for (size_t j = 0; j < s->n && same_ones; j++)
        same_ones = now.value[j].node == s->value[j].node && now.value[j].row == s->value[j].row;
    for (size_t j = 0; j < s->n && same_ones; j++) {
        const source_value *x = &s->value[j];
        for (int32_t i = x->node; i < c->n; i++)
            if (plan_root(c, i) == x->node) c->v[i].data = x->data;
        c->v[x->node].live = false; /* so that no run computes this node again */
    }
    s->read = same_ones;
    source_values_free(&now);
}

void source_values_free(source_values *s)
{
    free(s->value);
    free(s->data);
    *s = (source_values){0};
}
