/* optim_calls.c - checks that an optimizer builds equal graphs and computes equal updates after thousands of calls. */
#include "network/check/optim_bench.h"
#include <string.h>

enum { OFTEN = 4000, SETTLED = 100, KEPT = 16 /* KEPT: bytes per call that count as a leak */ };

static uint64_t traced(const optimizer *o, bool *kernels)
{
    uint64_t h = 0;
    const ab_ctx *c;
    for (size_t i = 0; (c = optim_tape(o, i)); i++) {
        AUTOFREE uint64_t *each = xcalloc((size_t)c->n + 1, sizeof *each);
        check_hash_tape(c, each, c->n);
        each[0] = h;
        h = hash64(each, (size_t)c->n * sizeof *each);
        for (int32_t k = 1; k < c->n; k++) *kernels |= c->v[k].op == OP_CALL;
    }
    return h;
}

static void check_kept(size_t settled, size_t used, int n, const char *what, check_result *r)
{
    if (used > settled && used - settled > (size_t)n * KEPT)
        check_fail(r, "%d %s keep %.3g bytes each: a plugin frees what it allocates, and need not allocate", n, what,
                   (double)(used - settled) / n);
}

/* Checks that thousands of calls, under other dates and environments, build equal graphs. */
static void trace_updates(optim_bench *b, bool *kernels, check_result *r)
{
    enum { DAY = 86400 };
    uint64_t first = 0;
    size_t settled = 0;
    err e = {0};
    int calls = 0, opened = 0;
    for (; calls < OFTEN && r->outcome != CHECK_FAIL; opened++) {
        check_disguise_as((int64_t)opened * (DAY + 3671), opened % 4);
        optim_close(b->o);
        if (!(b->o = optim_open(&b->m, &e))) {
            check_fail(r, "%s", e.text);
            break;
        }
        uint64_t now = traced(b->o, kernels);
        if (opened && now != first)
            check_fail(
                r,
                "after %d calls update (or refresh, measure, shift) builds another graph than at first: it may depend "
                "on arguments and settings only: is there an uninitialised array, a counter, the time, the "
                "environment, a file?",
                calls);
        if (!opened) first = now;
        for (size_t i = 0; optim_tape(b->o, i); i++) calls++;
        if (opened == SETTLED) settled = check_memory_in_use();
    }
    check_disguise_as(0, 0);
    if (r->outcome != CHECK_FAIL && opened > 2 * SETTLED)
        check_kept(settled, check_memory_in_use(), opened - SETTLED, "traces of all parameters", r);
}

/* Checks that the first updates, repeated from the initial values after thousands of others, give equal bits. Only a
 * plugin's kernels can keep state outside of slots. */
static void update_often(optim_bench *b, check_result *r)
{
    size_t bytes = params_bytes(&b->m.params, 0, F64), settled = 0;
    AUTOFREE double *first = xmalloc(bytes), *after = xmalloc(bytes);
    err e = {0};
    memcpy(first, optim_values(b), bytes);
    optim_steps(b, 1, OPTIM_STEPS, &e);
    memcpy(after, optim_values(b), bytes);
    optim_steps(b, OPTIM_STEPS + 1, SETTLED, &e);
    settled = check_memory_in_use();
    optim_steps(b, SETTLED + 1, OFTEN, &e);
    check_kept(settled, check_memory_in_use(), OFTEN - SETTLED, "updates", r);
    memcpy(optim_values(b), first, bytes);
    for (uint32_t i = 0; i < b->m.params.n_slots; i++)
        memset(b->m.params.slot[i], 0, params_bytes(&b->m.params, i + 1, F64));
    optim_steps(b, 1, OPTIM_STEPS, &e);
    if (e.text[0])
        check_fail(r, "%s", e.text);
    else if (memcmp(after, optim_values(b), bytes))
        check_fail(r,
                   "repeated after %d updates, the first %d give other bits than before, from the same values: "
                   "a kernel keeps state between calls, or depends on time or addresses",
                   (int)OFTEN, (int)OPTIM_STEPS);
}

uint64_t check_hash_updates(const plugin *p, err *e)
{
    CLEANUP(optim_bench_close) optim_bench b;
    uint64_t h = 0;
    if (!optim_bench_open(&b, p, OPTIM_FEW, F64, NULL, e)) {
        optim_steps(&b, 1, OPTIM_STEPS, e);
        h = hash64(optim_values(&b), params_bytes(&b.m.params, 0, F64));
    }
    return h;
}

void check_updates(const plugin *p, check_result *r)
{
    optim_bench b;
    err e = {0};
    bool kernels = false;
    check_disguise(p);
    if (optim_bench_open(&b, p, OPTIM_FEW, F64, NULL, &e)) {
        check_fail(r, "%s", e.text);
    } else {
        trace_updates(&b, &kernels, r);
        if (kernels && r->outcome != CHECK_FAIL) update_often(&b, r);
    }
    optim_bench_close(&b);
    if (r->outcome != CHECK_FAIL) check_elsewhere(p, "updates", r);
    check_note(r, "%d calls%s", (int)OFTEN, kernels ? ", and the same number of updates by its kernels" : "");
}
