/* same_structure.c - compares the structure of two tapes of one model, traced for different batches. */
#include "tensor/graph/tape.h"
#include <stdlib.h>
#include <string.h>

/* For each node: is it a result, or does a result depend on it? [c->n] */
static bool *needed(const ab_ctx *c)
{
    bool *y = xcalloc((size_t)c->n, sizeof *y);
    for (int32_t i = c->n - 1; i > 0; i--) {
        const node *v = &c->v[i];
        y[i] |= v->live;
        for (int k = 0; k < v->n_in && y[i]; k++) y[v->in[k]] = true;
    }
    return y;
}

static bool attends(const node *v) { return v->op == OP_ATTEND || v->op == OP_ATTEND_BACK; }
static bool same_shape(const node *a, const node *b) { return !memcmp(a->dim, b->dim, sizeof a->dim); }

/* Upper bounds of sentences may differ (op.h: ATTEND). */
static bool same_constants(const node *a, const node *b)
{
    attr x = a->a;
    if (attends(a)) x.ATTEND.most_keys = b->a.ATTEND.most_keys, x.ATTEND.most_queries = b->a.ATTEND.most_queries;
    return !memcmp(&x, &b->a, sizeof x);
}

static bool same_numbers(const node *a, const node *b)
{
    return a->data == b->data || !memcmp(a->data, b->data, (size_t)node_count(a) * dtype_size(a->type));
}

static bool same_inputs(const ab_ctx *a, const node *u, const ab_ctx *b, const node *v, const int32_t *twin)
{
    for (int k = 0; k < u->n_in; k++) {
        if (twin[u->in[k]] != v->in[k]) return false;
        if (!same_shape(&a->v[u->in[k]], &b->v[v->in[k]]) && !attends(u)) return false;
    }
    return true;
}

/* Compares node u of a with node v of b. twin[i]: the node of b that corresponds to a's node i, for all before u. */
static bool same_node(const ab_ctx *a, const node *u, const ab_ctx *b, const node *v, const int32_t *twin)
{
    if (u->op != v->op || u->type != v->type || u->n_in != v->n_in || u->param != v->param || u->phase != v->phase)
        return false;
    if (!same_shape(u, v) && u->op != OP_INPUT) return false;
    /* the shapes of leaves depend on the batch */
    if (u->op == OP_ATTEND_PROGRAM || u->op == OP_ATTEND_PROGRAM_BACK) return false;
    if (u->op == OP_CONST && !same_numbers(u, v)) return false;
    /* a CALL's attributes have an unknown size and cannot be compared */
    if (u->op == OP_CALL && (u->call != v->call || u->call_attr || v->call_attr)) return false;
    return same_constants(u, v) && same_inputs(a, u, b, v, twin);
}

bool tape_same_structure(const ab_ctx *a, const ab_ctx *b)
{
    bool *in_a = needed(a), *in_b = needed(b), alike = a->training == b->training && a->compute == b->compute;
    int32_t *twin = xcalloc((size_t)a->n, sizeof *twin), j = 1;
    for (int32_t i = 1; i < a->n && alike; i++) {
        if (!in_a[i]) continue;
        while (j < b->n && !in_b[j]) j++;
        alike = j < b->n && same_node(a, &a->v[i], b, &b->v[j], twin);
        twin[i] = j++;
    }
    while (alike && j < b->n) alike = !in_b[j++];
    free(in_a);
    free(in_b);
    free(twin);
    return alike;
}
