/* trace.h - shared by trace.c (stacks and tapes) and layer.c (one layer and its plugins). */
#ifndef ABLATE_TRACE_H
#define ABLATE_TRACE_H
#include "network/model/model.h"
#include "network/plugin/attention_context.h"

typedef struct {
    model *m;
    ab_ctx *c;
    model_shape s;
    ab_t src_off, src_len, src_pos_rows, tgt_off, tgt_len; /* offsets [B+1], lengths [B], positions [rows] */
    ab_t src_ids, tgt_ids;                                 /* tokens of the rows; in decoding: of the hypotheses */
    ab_t src_kpos, tgt_kpos;                               /* ids 0 .. time - 1 */
    ab_t memory;                                           /* the encoder's rows; id 0: none */
    /* decoding */
    bool decode;
    model_step step;
    ab_t ancestors, parents, time, one_pos; /* one_pos: position ids [1], equal to `time` */
    ab_t beam_off, beam_pos, row_off, row_len, past_pos;
} tracer;

/* x times a number, in x's type. */
ab_t trace_scaled(ab_ctx *c, ab_t x, double factor);
/* Adds the position's `embed` to rows x, with learned values below "enc" or "dec". Returns x if there is no `embed`. */
ab_t trace_embed_position(tracer *t, int role, ab_t x, ab_t pos);
/* Traces the block of layer `index` in the encoder or decoder (role). memory: the encoder's rows, or id 0. */
ab_t trace_layer(tracer *t, int role, int64_t index, ab_t x, ab_t memory);
/* Traces a layer with the plugins of the decoder's first layer; the learned values are below `where` ("head.mtp"). */
ab_t trace_own_layer(tracer *t, const char *where, ab_t x);
/* Calls the block's `finish`, after the last layer. */
ab_t trace_finish(tracer *t, int role, ab_t x);

/* The table of the softmax [vocabulary,d_model]. */
ab_t trace_softmax_table(tracer *t);
/* The head's logits for the decoder's last rows. padding: as for t_linear_padded; used only with the usual head. */
ab_t trace_logits(tracer *t, ab_t x, int64_t padding);
/* The head's logits for the `by`-th token after the next. The head must propose this token. */
ab_t trace_proposal(tracer *t, ab_t x, int64_t by);
/* Traces the head's losses; in evaluation only to find the head's learned values. Returns the logits whose memory the
 * gradient may reuse. */
ab_t trace_losses(tracer *t, ab_t x, ab_t logits, ab_t target);

/* ---- calling a plugin (layer.c) ---- */

/* The context of a plugin called in `role` in layer `index`. */
attn_context trace_context(const tracer *t, const config *f, const plugin *p, int role, int64_t index);
/* Sets the sentences of self-attention over rows x, for functions that may read other tokens. */
void trace_self_side(tracer *t, attn_context *k, int role, ab_t x);
typedef struct { /* the caller's state, restored by trace_end */
    attn_context *attn;
    ab_hook hook;
    const char *scope;
} trace_caller;
trace_caller trace_begin(ab_ctx *c, attn_context *k, ab_hook hook, const char *scope);
void trace_end(ab_ctx *c, trace_caller before);
/* With keep_influence: traces the gradient of y times an input SCOPE PROBE [rows,d_model] with respect to the values of
 * the call's sums over keys (kept as SCOPE BY_VALUES) or to its key side's rows (BY_ROWS). first: the call's first
 * node. Does nothing if the weights of one softmax are kept. See influence.c. */
void trace_influence(ab_ctx *c, const attn_context *k, int32_t first, ab_t y, const char *scope);
/* Returns y in the type of rows if y is [rows, width]; else the failed tensor, with an error naming the plugin. */
ab_t trace_expect_rows(ab_ctx *c, const plugin *p, ab_t y, int64_t rows, int64_t width);
#endif
