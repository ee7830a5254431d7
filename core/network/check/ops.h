/* ops.h - calls of a plugin's own operations, recorded in models of several sizes (ops_samples.c) for ops.c. */
#ifndef ABLATE_CHECK_OPS_H
#define ABLATE_CHECK_OPS_H
#include "network/check/internal.h"

enum { MOST_SAMPLES = 12 };

typedef struct { /* one recorded call of an operation */
    ab_op op;
    const ab_op *is; /* the operation as the plugin describes it */
    void *attr;
    int64_t dim[4][4];
    dtype type[4], mixed[5]; /* type: of each input, F64 or I32; mixed: of inputs and output in a bf16 run */
    void *data[4];
} sample;

typedef struct {
    sample at[MOST_SAMPLES];
    size_t n;
    arena memory;
} samples;

static inline bool sample_has_ids(const sample *s, int k) { return s->type[k] == I32; }
static inline size_t elements_of(const int64_t d[4]) { return (size_t)(d[0] * d[1] * d[2] * d[3]); }

/* Records calls in models around the plugin; the caller frees. Returns false, and sets r, if no model runs. */
bool check_find_samples(const plugin *p, samples *all, check_result *r);
#endif
