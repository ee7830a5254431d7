/* buckets.c - finds the kernel that completes each bucket of the gradient, and sends the bucket then.
 *
 * Parameters are in the order of tracing, so the backward pass completes the flat gradient from its end to its
 * beginning. Every rank sends buckets in that order, whichever is complete first. */
#include "network/train/buckets.h"
#include <stdlib.h>

enum { SMALLEST = 4096, LARGEST = 1 << 20, WANTED = 8 }; /* elements per bucket; wanted number of buckets */

typedef struct {
    size_t at, n;
    int32_t last; /* the last node that writes to this bucket */
} bucket;

struct buckets {
    const comm *c;
    const params *p;
    char *grad;
    bucket *b;
    size_t n, sent; /* buckets n - 1 .. n - sent have been sent */
    int32_t *stops; /* [n_stops] ascending: nodes after which a bucket can be sent */
    int n_stops;
};

buckets *buckets_open(const comm *c, const params *p)
{
    buckets *b = xcalloc(1, sizeof *b);
    size_t size = p->total / WANTED;
    size = size < SMALLEST ? SMALLEST : size > LARGEST ? LARGEST : size;
    *b = (buckets){.c = c, .p = p, .n = (p->total + size - 1) / size};
    b->b = xcalloc(b->n + 1, sizeof *b->b);
    b->stops = xcalloc(b->n + 1, sizeof *b->stops);
    for (size_t i = 0; i < b->n; i++) {
        b->b[i].at = i * size;
        b->b[i].n = p->total - i * size < size ? p->total - i * size : size;
    }
    return b;
}

void buckets_close(buckets *b)
{
    if (!b) return;
    free(b->b);
    free(b->stops);
    free(b);
}

/* Makes the buckets that contain part of node i's output wait for node i. */
static void wait_for(buckets *b, const node *v, int32_t i)
{
    size_t width = dtype_size(b->p->type), from = (size_t)((char *)v->data - b->grad) / width,
           to = from + (size_t)node_count(v);
    for (size_t k = 0; k < b->n; k++)
        if (from < b->b[k].at + b->b[k].n && to > b->b[k].at && b->b[k].last < i) b->b[k].last = i;
}

static int send_complete(buckets *b, int32_t node, err *e)
{
    for (; b->sent < b->n; b->sent++) {
        const bucket *next = &b->b[b->n - 1 - b->sent];
        if (next->last > node) return 0;
        if (b->c->m->sum_begin(b->grad + next->at * dtype_size(b->p->type), next->n, b->p->type, e)) return -1;
    }
    return 0;
}

static void find_stops(buckets *b)
{
    int32_t latest = 0;
    b->n_stops = 0;
    for (size_t i = 0; i < b->n; i++) { /* in the order in which buckets are sent */
        int32_t last = b->b[b->n - 1 - i].last;
        if (last > latest) b->stops[b->n_stops++] = latest = last;
    }
}

const int32_t *buckets_stops(const buckets *b, int *n)
{
    *n = b->n_stops;
    return b->stops;
}

int buckets_begin(buckets *b, void *grad, const ab_ctx *tape, err *e)
{
    b->grad = grad;
    b->sent = 0;
    for (size_t k = 0; k < b->n; k++) b->b[k].last = 0;
    const char *end = b->grad + b->p->total * dtype_size(b->p->type);
    for (int32_t i = 1; tape && i < tape->n; i++) {
        const node *v = &tape->v[i];
        const char *at = v->data;
        if (v->live && v->op != OP_PARAM && at >= b->grad && at < end) wait_for(b, v, tape_written_by(tape, i));
    }
    find_stops(b);
    return tape ? 0 : send_complete(b, 0, e);
}

int buckets_after(void *self, int32_t node, err *e)
{
    buckets *b = self;
    if (b->sent && b->c->m->progress(e)) return -1;
    return send_complete(b, node, e);
}

int buckets_end(buckets *b, err *e) { return send_complete(b, INT32_MAX, e) || b->c->m->sum_end(e) ? -1 : 0; }
