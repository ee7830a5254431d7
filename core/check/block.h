/* block.h - one call of an attention plugin in double precision, with positions of the caller's choice: for
 * the claims of positional encodings, for parameters at their limits, and for worked examples.
 *
 * The caller gives rows of queries' side x (and of keys' side in cross attention), positions, and sentences'
 * lengths; block_run leaves the plugin's rows in block.y. Parameters are block.values, named without a
 * prefix: "qkv.w", "o.b", ...
 */
#ifndef ABLATE_CHECK_BLOCK_H
#define ABLATE_CHECK_BLOCK_H
#include "cpu/cpu.h"
#include "plugin/attention_context.h"
#include "plugin/plugin.h"

typedef struct {
    const plugin *attention, *position; /* position NULL: none */
    const void *attention_cfg, *position_cfg;
    uint32_t role; /* AB_SELF, AB_CAUSAL, AB_CROSS */
    int64_t heads, d_k, d_v, d_model;
    int64_t batch, time;   /* sentences; places of each, in cross attention of both sides */
    const int32_t *length; /* [batch] tokens of each sentence; NULL: all have `time` */
    bool measured;         /* for measurements: fp32, in training without dropout, with the gradient of the sum of y */
    int64_t layer;         /* in which the plugin is told that it stands, from 0 */
} block_spec;

typedef struct {
    params values;
    ab_ctx *c;
    int32_t forward_nodes; /* nodes of the plugin's own forward pass come before this one */
    int64_t rows;
    int32_t offset[33]; /* [batch + 1] */
    /* inputs, valid once block_plan succeeded; NULL where the plugins read nothing of it */
    double *x, *mem;                 /* [rows, d_model]; float when measured, like y */
    int32_t *rows_pos, *qpos, *kpos; /* [rows], [time], [time] */
    const double *y;                 /* [rows, d_model], after block_run */
} block;

/* Traces the call; block.values has every parameter by name, without memory. -1 and words. */
int block_trace(block *b, const block_spec *s, err *e);
/* Memory: first values of the parameters, inputs with positions 0, 1, ... and x, mem at zero. */
int block_plan(block *b, uint64_t seed, err *e);
int block_run(block *b, err *e);
void block_close(block *b);
#endif
