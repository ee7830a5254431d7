/* delta_scan.c - DELTA_SCAN and DPLR_SCAN: recurrences whose state is a matrix, by chunks of positions, one thread per
 * head. SOLVE_LOWER, one thread per matrix. */
#include "tensor/cpu/generic.h"
#include "tensor/cpu/strip_tiles.h"

typedef struct {
    const void *q, *k, *v, *beta, *decay, *dy; /* beta and decay may be NULL */
    void *y, *w, *states;                      /* states [heads, chunks, d_k, d_v]: at the beginning of each chunk */
    void *dq, *dk, *dv, *dbeta, *ddecay;
    int64_t heads, time, d_k, d_v; /* heads: heads times sentences */
    int64_t chunk, chunks;         /* positions of a chunk; number of chunks */
    int64_t C, K, V;               /* chunk, d_k and d_v in whole vectors */
    bool backwards;
} delta_job;
typedef struct { /* DPLR_SCAN: d.decay has d_k numbers per position, d.w is u */
    delta_job d;
    const void *a, *b;
    void *da, *db;
} dplr_job;
typedef struct {
    const void *l, *b;
    void *y;
    int64_t n, m, N, wide; /* n and m in whole vectors */
    bool transposed;
} solve_job;

#define OF_EACH_REAL "tensor/cpu/delta_scan.inc"
#include "tensor/cpu/each_real.h"
#define OF_EACH_REAL "tensor/cpu/dplr_scan.inc"
#include "tensor/cpu/each_real.h"
#define OF_EACH_REAL "tensor/cpu/solve_lower.inc"
#include "tensor/cpu/each_real.h"

static int64_t whole(int64_t n, dtype type)
{
    int64_t lanes = type == F64 ? lanes_f64 : lanes_f32, least = lanes > 8 ? lanes : 8;
    return (n + least - 1) / least * least;
}

static int job_of(const call *k, delta_job *d, err *e)
{
    const view *q = &k->i.DELTA_SCAN.q, *v = &k->i.DELTA_SCAN.v;
    if (!is_real(q)) return wrong_type(k, e);
    for (int i = 0; i < k->n_in; i++)
        if (k->in[i].data && k->in[i].type != q->type) return wrong_type(k, e);
    *d = (delta_job){.q = q->data,
                     .k = k->i.DELTA_SCAN.k.data,
                     .v = v->data,
                     .beta = k->i.DELTA_SCAN.beta.data,
                     .decay = k->i.DELTA_SCAN.decay.data,
                     .heads = q->dim[0] * q->dim[1],
                     .time = q->dim[2],
                     .d_k = q->dim[3],
                     .d_v = v->dim[3],
                     .chunk = k->a.DELTA_SCAN.chunk,
                     .backwards = k->a.DELTA_SCAN.backwards != 0};
    d->chunks = (d->time + d->chunk - 1) / d->chunk;
    d->C = whole(d->chunk, q->type), d->K = whole(d->d_k, q->type), d->V = whole(d->d_v, q->type);
    return 0;
}
static int dplr_job_of(const call *k, dplr_job *j, err *e)
{
    call as_delta = *k;
    as_delta.i.DELTA_SCAN.beta = (view){0}, as_delta.i.DELTA_SCAN.decay = k->i.DPLR_SCAN.decay;
    if (job_of(&as_delta, &j->d, e)) return -1;
    j->a = k->i.DPLR_SCAN.a.data, j->b = k->i.DPLR_SCAN.b.data;
    return 0;
}
static int64_t work_of(const delta_job *d) { return d->heads * d->time * (d->chunk + d->d_k) * d->d_v / 8; }

int cpu_DELTA_SCAN(const call *k, err *e)
{
    delta_job d;
    if (job_of(k, &d, e)) return -1;
    d.y = k->o.DELTA_SCAN.y.data, d.w = k->o.DELTA_SCAN.w.data, d.states = k->o.DELTA_SCAN.states.data;
    over_range(d.heads, 1, work_of(&d), OF_TYPE(&k->i.DELTA_SCAN.q, delta_forward), &d);
    return 0;
}

int cpu_DELTA_SCAN_BACK(const call *k, err *e)
{
    delta_job d;
    if (job_of(k, &d, e)) return -1;
    d.dy = k->i.DELTA_SCAN_BACK.dy.data, d.w = k->i.DELTA_SCAN_BACK.w.data, d.states = k->i.DELTA_SCAN_BACK.states.data;
    d.dq = k->o.DELTA_SCAN_BACK.dq.data, d.dk = k->o.DELTA_SCAN_BACK.dk.data, d.dv = k->o.DELTA_SCAN_BACK.dv.data;
    d.dbeta = k->o.DELTA_SCAN_BACK.dbeta.data, d.ddecay = k->o.DELTA_SCAN_BACK.ddecay.data;
    over_range(d.heads, 1, 3 * work_of(&d), OF_TYPE(&k->i.DELTA_SCAN.q, delta_back), &d);
    return 0;
}

int cpu_DPLR_SCAN(const call *k, err *e)
{
    dplr_job j = {0};
    if (dplr_job_of(k, &j, e)) return -1;
    j.d.y = k->o.DPLR_SCAN.y.data, j.d.w = k->o.DPLR_SCAN.u.data, j.d.states = k->o.DPLR_SCAN.states.data;
    over_range(j.d.heads, 1, 2 * work_of(&j.d), OF_TYPE(&k->i.DPLR_SCAN.q, dplr_forward), &j);
    return 0;
}

int cpu_DPLR_SCAN_BACK(const call *k, err *e)
{
    dplr_job j = {0};
    if (dplr_job_of(k, &j, e)) return -1;
    j.d.dy = k->i.DPLR_SCAN_BACK.dy.data, j.d.w = k->i.DPLR_SCAN_BACK.u.data;
    j.d.states = k->i.DPLR_SCAN_BACK.states.data;
    j.d.dq = k->o.DPLR_SCAN_BACK.dq.data, j.d.dk = k->o.DPLR_SCAN_BACK.dk.data, j.d.dv = k->o.DPLR_SCAN_BACK.dv.data;
    j.da = k->o.DPLR_SCAN_BACK.da.data, j.db = k->o.DPLR_SCAN_BACK.db.data;
    j.d.ddecay = k->o.DPLR_SCAN_BACK.ddecay.data;
    over_range(j.d.heads, 1, 4 * work_of(&j.d), OF_TYPE(&k->i.DPLR_SCAN.q, dplr_back), &j);
    return 0;
}

int cpu_SOLVE_LOWER(const call *k, err *e)
{
    const view *l = &k->i.SOLVE_LOWER.l, *b = &k->i.SOLVE_LOWER.b;
    if (!is_real(b) || l->type != b->type) return wrong_type(k, e);
    solve_job s = {.l = l->data,
                   .b = b->data,
                   .y = k->o.SOLVE_LOWER.y.data,
                   .n = b->dim[2],
                   .m = b->dim[3],
                   .N = whole(b->dim[2], b->type),
                   .wide = whole(b->dim[3], b->type),
                   .transposed = k->a.SOLVE_LOWER.transposed != 0};
    over_range(b->dim[0] * b->dim[1], 1, count_of(b) * s.n / 8, OF_TYPE(b, solve), &s);
    return 0;
}
