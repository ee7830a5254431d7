/* block.h - one call of an attention plugin in double precision, with positions chosen by the caller: tests the
 * claims of positional encodings, parameters at their limits, and worked examples.
 *
 * The caller sets the rows of the query side, x (and of the key side, mem, in cross-attention), positions and sentence
 * lengths; block_run writes the plugin's rows to block.y. Parameters are in block.values, named without a
 * prefix: "qkv.w", "o.b", ...
 */
#ifndef ABLATE_CHECK_BLOCK_H
#define ABLATE_CHECK_BLOCK_H
#include "tensor/cpu/cpu.h"
#include "network/plugin/attention_context.h"
#include "network/plugin/plugin.h"

enum { BLOCK_SENTENCES = 32 };
typedef struct {
    const plugin *attention, *position; /* position NULL: the call has no position plugin */
    const void *attention_cfg, *position_cfg;
    uint32_t role; /* AB_SELF, AB_CAUSAL, AB_CROSS */
    int64_t heads, d_k, d_v, d_model;
    int64_t batch,
        time; /* batch: number of sentences, at most BLOCK_SENTENCES; time: positions per sentence, on both sides */
    const int32_t *length; /* [batch] tokens of each sentence; NULL: all have `time` */
    bool measured;         /* for benchmarks: fp32, training without dropout, and a backward pass from the sum of y */
    int64_t layer;         /* number of the layer that the plugin sees, counted from 0 */
} block_spec;

typedef struct {
    params values;
    ab_ctx *c;
    int32_t forward_nodes; /* nodes before this one are the plugin's forward pass */
    int64_t rows;
    int32_t offset[BLOCK_SENTENCES + 1]; /* [batch + 1] */
    /* inputs, valid after block_plan; NULL if the plugins do not read them */
    double *x, *mem;                 /* [rows, d_model]; float when measured, like y */
    int32_t *rows_pos, *qpos, *kpos; /* [rows], [time], [time] */
    const double *y;                 /* [rows, d_model], after block_run */
} block;

/* Traces the call. block.values then names every parameter, without memory. Returns 0, or -1 and e. */
int block_trace(block *b, const block_spec *s, err *e);
/* Allocates memory, sets initial parameter values and positions 0, 1, ..., and fills x and mem with zeros. */
int block_plan(block *b, uint64_t seed, err *e);
int block_run(block *b, err *e);
void block_close(block *b);
#endif
