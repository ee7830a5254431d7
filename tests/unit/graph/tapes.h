/* tapes.h - for tests of the tape: numbered inputs, reproducible values. */
#ifndef ABLATE_TEST_TAPES_H
#define ABLATE_TEST_TAPES_H
#include "tensor/cpu/cpu.h"
#include "test.h"

/* A number in [-1, 1) that depends on stream and index only. */
static inline double hashed(uint64_t place, uint64_t i)
{
    uint64_t z = (place * 1000003 + i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 40) / 8388608.0 - 1;
}

static inline ab_t input(ab_ctx *c, int k, const int64_t d[4])
{
    ab_t x = t_input(c, arena_printf(&c->memory, "in%d", k), F64, PHASE_STEP, d[0], d[1], d[2], d[3]);
    tape_at(c, x)->needs = true;
    return x;
}

static inline double *data(ab_ctx *c, ab_t x) { return tape_at(c, x)->data; }

/* Returns the sum of y times fixed weights: each element of y has its own weight. */
static inline ab_t weighed(ab_ctx *c, ab_t y)
{
    if (!y.id) return y;
    int64_t d[4];
    memcpy(d, tape_at(c, y)->dim, sizeof d);
    size_t n = (size_t)node_count(tape_at(c, y));
    double *w = xmalloc(n * sizeof *w);
    for (size_t i = 0; i < n; i++) w[i] = hashed(77, i);
    ab_t loss = t_sum_to(c, t_binary(c, OP_MUL, y, t_const(c, d, w)), (int64_t[4]){1, 1, 1, 1});
    free(w);
    return loss;
}

static inline int run(ab_ctx *c) { return tape_run(c, &(run_options){.seed = 3, .step = 1, .from = PHASE_CONST}); }
#endif
