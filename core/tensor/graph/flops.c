/* flops.c - costs of operations: floating-point operations (a multiply-add is two) and bytes, from shapes alone. */
#include "tensor/graph/score.h"
#include "tensor/graph/tape.h"
#include <math.h>

static double elements(const view *v) { return v->data ? (double)(v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3]) : 0; }

/* DELTA_SCAN per position: products with the state (k S, q S, k' u) and with the chunk's rows; fewer without beta. */
static double delta_flops(const attr *a, const op_inputs *i)
{
    const view *q = &i->DELTA_SCAN.q, *v = &i->DELTA_SCAN.v;
    double d_k = (double)q->dim[3], d_v = (double)v->dim[3], chunk = (double)a->DELTA_SCAN.chunk;
    double products = i->DELTA_SCAN.beta.data ? 2 : 1;
    return 2 * (elements(q) / d_k) * ((products + 1) * d_k * d_v + products * chunk / 2 * (d_k + d_v));
}

/* DPLR_SCAN: products of q, b, a', k' with the state, and of two pairs of rows with the rows of their chunk. */
static double dplr_flops(const attr *a, const op_inputs *i)
{
    const view *q = &i->DPLR_SCAN.q, *v = &i->DPLR_SCAN.v;
    double d_k = (double)q->dim[3], d_v = (double)v->dim[3], chunk = (double)a->DELTA_SCAN.chunk;
    return 2 * (elements(q) / d_k) * (4 * d_k * d_v + 2 * chunk * (d_k + d_v));
}

/* LONG_CONV per number: 64 neighbours, half of them in the past. Then, for each power of two of positions up to the
 * filter's length, two transforms (5/2 log2 of their length per column) and the product of their spectra. */
static double long_conv_flops(const op_inputs *i, double numbers)
{
    double each = 64, taps = (double)i->LONG_CONV.h.dim[2];
    for (double m = 64; m < taps; m *= 2) each += 5 * log2(2 * m) + 10;
    return each * numbers;
}

/* pairs: as for node_flops. A causal attention counts every pair, although it computes about half of them. Only pairs
 * inside windows (score.h) count if the windows can be read (call_flops). */
static double op_flops(op o, const attr *a, const op_inputs *i, const view *out, double pairs)
{
    double y = elements(out), scores = pairs * (double)a->ATTEND.heads;
    int64_t maps = op_attends(o) && a->ATTEND.maps > 1 ? a->ATTEND.maps : 1;
    switch (o) {
    case OP_MATMUL: return 2 * y * (double)i->MATMUL.a.dim[a->MATMUL.transpose_a ? 2 : 3];
    case OP_LINEAR:
        return 2 * (double)out->dim[2] * (double)(out->dim[3] - a->LINEAR.padding) * (double)i->LINEAR.x.dim[3];
    case OP_LINEAR_DX: return 2 * y * (double)(i->LINEAR_DX.dy.dim[3] - a->LINEAR.padding);
    case OP_LINEAR_DW: return 2 * y * (double)i->LINEAR_DW.x.dim[2];
    case OP_ATTEND:
    case OP_ATTEND_PROGRAM: return 2 * scores * (double)(maps * a->ATTEND.d_k + a->ATTEND.d_v);
    case OP_ATTEND_BACK:
    case OP_ATTEND_PROGRAM_BACK: return 5 * scores * (double)(maps * a->ATTEND.d_k + a->ATTEND.d_v);
    case OP_RECURRENT: return 2 * y * (double)i->RECURRENT.u.dim[3]; /* the product of states with u */
    case OP_RECURRENT_BACK: return 2 * elements(&i->RECURRENT_BACK.dy) * (double)i->RECURRENT_BACK.u.dim[3];
    case OP_DELTA_SCAN: return delta_flops(a, i);
    case OP_DELTA_SCAN_BACK: return 2 * delta_flops(a, i);
    case OP_DPLR_SCAN: return dplr_flops(a, i);
    case OP_DPLR_SCAN_BACK: return 2 * dplr_flops(a, i);
    case OP_NEIGHBOURS: return 0;
    case OP_NEIGHBOURS_BACK: return elements(&i->NEIGHBOURS_BACK.dy);
    case OP_DEPTHWISE_CONV: return 2 * y * (double)i->DEPTHWISE_CONV.w.dim[2];
    case OP_DEPTHWISE_CONV_BACK: return 4 * y * (double)i->DEPTHWISE_CONV_BACK.w.dim[2];
    case OP_LONG_CONV: return long_conv_flops(i, y);
    case OP_LONG_CONV_FILTER: /* three transforms of twice the length */
        return elements(&i->LONG_CONV_FILTER.x) * (15 * log2(2 * (double)out->dim[2]) + 10);
    case OP_RESHAPE: return 0;
    default: return y;
    }
}

/* The windows of a call's queries (score.h); NULL if it has none or they are not in memory. */
static const view *window_of(const call *k)
{
    const score_program *f = k->op == OP_ATTEND_PROGRAM || k->op == OP_ATTEND_PROGRAM_BACK ? k->call_attr : NULL;
    const view *v = f && f->window >= 0 ? &k->i.ATTEND_PROGRAM.leaf[f->window] : NULL;
    return v && v->data ? v : NULL;
}

/* Counts the pairs inside the windows of a sentence with nq queries and nk keys. */
static double pairs_inside(const view *w, int64_t sentence, int64_t nq, int64_t nk)
{
    double sum = 0;
    for (int64_t i = 0; i < nq; i++) {
        window_bounds b = window_of_query(w, sentence, i, nk);
        sum += fmax(b.to - b.from, 0);
    }
    return sum;
}

/* Counts the (query, key) pairs of ATTEND or ATTEND_BACK; on a device, whose offsets cannot be read, the maximum. */
static double pairs_of(const call *k, const backend *b)
{
    if (!op_attends(k->op)) return 0;
    const int32_t *q = k->i.ATTEND.q_offsets.data, *key = k->i.ATTEND.k_offsets.data;
    if (on_device(b)) return (double)k->a.ATTEND.most_keys * (double)k->i.ATTEND.q.dim[2];
    const view *window = window_of(k);
    double sum = 0;
    for (int64_t i = 0; i + 1 < k->i.ATTEND.q_offsets.dim[3]; i++) {
        int64_t nq = q[i + 1] - q[i], nk = key[i + 1] - key[i];
        sum += window ? pairs_inside(window, i, nq, nk) : (double)nq * (double)nk;
    }
    return sum;
}

double call_flops(const call *k, const backend *b) { return op_flops(k->op, &k->a, &k->i, k->out, pairs_of(k, b)); }

double call_bytes(const call *k)
{
    double sum = 0;
    for (int i = 0; i < k->n_in; i++) sum += elements(&k->in[i]) * (double)dtype_size(k->in[i].type);
    for (int i = 0; i < k->n_out; i++) sum += elements(&k->out[i]) * (double)dtype_size(k->out[i].type);
    if (k->op == OP_EMBED_TOKENS)
        sum -= elements(&k->i.EMBED_TOKENS.table) * 4 - elements(&k->o.EMBED_TOKENS.y) * 4; /* only the rows it reads */
    return sum;
}

/* The view of a value that has no memory yet. Its address is not NULL, so that it counts as present. */
static view shape_of(const ab_ctx *c, int32_t id)
{
    view v = {.data = id ? (void *)c : NULL, .type = c->v[id].type, .param = c->v[id].param};
    for (int i = 0; i < 4; i++) v.dim[i] = c->v[id].dim[i];
    return v;
}

double node_flops(const ab_ctx *c, int32_t i, double pairs)
{
    const node *v = &c->v[i];
    union {
        view in[MAX_IN];
        op_inputs i;
    } shape;
    if (v->op <= OP_PART) return 0;
    for (int k = 0; k < v->n_in; k++) shape.in[k] = shape_of(c, v->in[k]);
    view out = shape_of(c, i);
    return op_flops(v->op, &v->a, &shape.i, &out, pairs);
}
