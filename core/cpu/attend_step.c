/* attend_step.c - ATTEND_STEP: one more token of every hypothesis attends over its own past in the cache. */
#include "cpu/fused.h"
#include "cpu/vectors.h"

typedef struct {
    int64_t rows, cap, heads, d_k, d_v, t; /* t: position of the new tokens; caches hold cap positions */
    const void *qkv;                       /* [rows, heads (2 d_k + d_v)] */
    void *cache, *y;                       /* [rows, cap, heads (d_k + d_v)], [rows, heads d_v] */
    const int32_t *ancestor; /* [rows, cap]: the row whose cache holds position j of this row's past */
    double scale;
} step_args;

#define S f32
#include "cpu/attend_step.inc"
#undef S
#define S f64
#include "cpu/attend_step.inc"
#undef S
#define S bf16
#include "cpu/attend_step.inc"
#undef S

int cpu_ATTEND_STEP(const call *k, err *e)
{
    const attr *t = &k->a;
    step_args a = {.rows = rows_of(&k->in[0]),
                   .cap = k->in[1].dim[2],
                   .heads = t->i[3],
                   .d_k = t->i[4],
                   .d_v = t->i[5],
                   .t = *(const int32_t *)k->in[3].data,
                   .qkv = k->in[0].data,
                   .cache = k->in[1].data,
                   .y = k->out[0].data,
                   .ancestor = k->in[2].data,
                   .scale = t->f[1]};
    if (a.t < 0 || a.t >= a.cap)
        return fail(e, "decoding step %lld, the cache holds %lld positions", (long long)a.t,
                    (long long)a.cap);
    BY_TYPE(k->in[0].type, attend_step, &a);
    return 0;
}
