/* attend_step.c - ATTEND_STEP, ATTEND_PROGRAM_STEP: each hypothesis's new token attends over its past in the cache. */
#include "tensor/cpu/attend.h"
#include "tensor/cpu/generic.h"
#include "tensor/cpu/vectors.h"

typedef struct {
    int64_t rows, cap, heads, d_k, d_v, last; /* caches hold cap positions; last: the latest new token's position */
    const int32_t *time;                      /* positions of the new tokens: [rows], or one for all */
    bool each;                                /* `time` has an entry per row; a row may be an ancestor of another */
    const void *qkv;                          /* [rows, heads (2 d_k + d_v)] */
    void *cache, *y;                          /* [rows, cap, heads (d_k + d_v)], [rows, heads d_v] */
    const int32_t *ancestor;                  /* [rows, cap]: the row whose cache holds position j of this row's past */
    double scale;
    const score_args *score; /* NULL: no score program */
} step_args;

static inline int64_t step_time(const step_args *a, int64_t r) { return a->time[a->each ? r : 0]; }

/* Number of lines that a program's values need: one per leaf and per step. */
static inline int64_t program_lines(const step_args *a)
{
    return a->score ? SCORE_LEAVES + a->score->program->n_steps : 0;
}

#define OF_EACH_TYPE "tensor/cpu/attend_step.inc"
#include "tensor/cpu/each_type.h"

static int run_step(const call *k, const score_args *score, err *e)
{
    const attr *t = &k->a;
    step_args a = {.score = score,
                   .rows = rows_of(&k->i.ATTEND_STEP.qkv),
                   .cap = k->i.ATTEND_STEP.cache.dim[2],
                   .heads = t->ATTEND.heads,
                   .d_k = t->ATTEND.d_k,
                   .d_v = t->ATTEND.d_v,
                   .time = k->i.ATTEND_STEP.time.data,
                   .each = k->i.ATTEND_STEP.time.dim[3] > 1,
                   .qkv = k->i.ATTEND_STEP.qkv.data,
                   .cache = k->i.ATTEND_STEP.cache.data,
                   .y = k->o.ATTEND_STEP.y.data,
                   .ancestor = k->i.ATTEND_STEP.ancestors.data,
                   .scale = t->ATTEND.scale};
    for (int64_t i = 0; i < (a.each ? a.rows : 1); i++) {
        int64_t t = a.time[i];
        if (t < 0 || t >= a.cap)
            return fail(e, "decoding step %lld, but the cache has %lld positions", (long long)t, (long long)a.cap);
        a.last = t > a.last ? t : a.last;
    }
    dtype type = k->o.ATTEND_STEP.y.type;
    if (k->i.ATTEND_STEP.qkv.type != type || k->i.ATTEND_STEP.cache.type != type) return wrong_type(k, e);
    BY_TYPE(type, attend_step, &a);
    return 0;
}

int cpu_ATTEND_STEP(const call *k, err *e) { return run_step(k, NULL, e); }

int cpu_ATTEND_PROGRAM_STEP(const call *k, err *e)
{
    score_args s = {
        .program = k->call_attr, .ids = k->i.ATTEND_PROGRAM_STEP.ids.data, .counts = k->o.ATTEND_PROGRAM_STEP.z};
    memcpy(s.leaf, k->i.ATTEND_PROGRAM_STEP.leaf, sizeof s.leaf);
    for (int i = 0; i < s.program->n_leaves; i++)
        if (s.program->gathered[i] && check_ids(&k->i.ATTEND_PROGRAM_STEP.ids, s.leaf[i].dim[3], e)) return -1;
    if (s.counts.data && check_ids(&k->i.ATTEND_PROGRAM_STEP.ids, s.counts.dim[3], e)) return -1;
    return run_step(k, &s, e);
}
