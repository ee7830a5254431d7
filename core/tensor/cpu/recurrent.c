/* recurrent.c - RECURRENT: a GRU or LSTM along each sentence. Threads divide the sentences. */
#include "base/vmath.h"
#include "tensor/cpu/generic.h"
#include "tensor/cpu/strip_tiles.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    const void *x, *u, *dy; /* [R,wide], [d,wide], [R,d] */
    void *y, *kept;         /* [R,d], [R,wide + d] */
    void *dx, *before, *dq; /* [R,wide], [R,d], [R,wide] or NULL */
    const int32_t *offsets;
    int64_t d, wide; /* units; d times 3 (GRU) or d times 4 (LSTM) */
    bool lstm, backwards;
} recurrence;

typedef struct {
    int64_t first, length; /* a sentence's first row and number of rows */
} place;

static int longer_first(const void *a, const void *b)
{
    const place *p = a, *q = b;
    return p->length != q->length ? (p->length < q->length ? 1 : -1) : (p->first > q->first) - (p->first < q->first);
}
static void order_places(const recurrence *r, int64_t from, int64_t to, place *order)
{
    for (int64_t s = from; s < to; s++) order[s - from] = (place){r->offsets[s], r->offsets[s + 1] - r->offsets[s]};
    if (to > from) qsort(order, (size_t)(to - from), sizeof *order, longer_first);
}
/* The row of step t of a sentence. */
static int64_t row_of_step(const recurrence *r, place p, int64_t t)
{
    return p.first + (r->backwards ? p.length - 1 - t : t);
}

static inline float sigmoid_one_f32(float x) { return vsigmoidf(x); }
static inline float tanh_one_f32(float x) { return vtanhf(x); }
static inline double sigmoid_one_f64(double x) { return 1 / (1 + exp(-x)); }
static inline double tanh_one_f64(double x) { return tanh(x); }

#define OF_EACH_REAL "tensor/cpu/recurrent.inc"
#include "tensor/cpu/each_real.h"

/* Runs f over the sentences. Rows behind the last sentence become 0 in each of the outputs. */
static int over_sentences(const call *k, recurrence *r, const view *u, const view *offsets, range_fn f, err *e)
{
    const view *y = &k->out[0];
    int64_t rows = y->dim[2], sentences = offsets->dim[3] - 1;
    if (!is_real(y) || u->type != y->type) return wrong_type(k, e);
    r->u = u->data, r->offsets = offsets->data, r->d = u->dim[2], r->wide = u->dim[3];
    r->lstm = k->a.RECURRENT.lstm != 0, r->backwards = k->a.RECURRENT.backwards != 0;
    int64_t ends = r->offsets[sentences];
    for (int i = 0; i < k->n_out; i++) {
        const view *o = &k->out[i];
        size_t row = (size_t)o->dim[3] * dtype_size(o->type);
        if (o->data) memset((char *)o->data + (size_t)ends * row, 0, (size_t)(rows - ends) * row);
    }
    over_range(sentences, 1, rows * r->d * r->wide / 8, f, r);
    return 0;
}

int cpu_RECURRENT(const call *k, err *e)
{
    recurrence r = {.x = k->i.RECURRENT.x.data, .y = k->o.RECURRENT.y.data, .kept = k->o.RECURRENT.kept.data};
    return over_sentences(k, &r, &k->i.RECURRENT.u, &k->i.RECURRENT.offsets, OF_TYPE(&k->out[0], recurrent), e);
}

int cpu_RECURRENT_BACK(const call *k, err *e)
{
    recurrence r = {.dy = k->i.RECURRENT_BACK.dy.data,
                    .y = k->i.RECURRENT_BACK.y.data,
                    .kept = k->i.RECURRENT_BACK.kept.data,
                    .dx = k->o.RECURRENT_BACK.dx.data,
                    .before = k->o.RECURRENT_BACK.before.data,
                    .dq = k->o.RECURRENT_BACK.dq.data};
    return over_sentences(k, &r, &k->i.RECURRENT_BACK.u, &k->i.RECURRENT_BACK.offsets,
                          OF_TYPE(&k->out[0], recurrent_back), e);
}
