/* model.h - the encoder-decoder Transformer (Vaswani et al. 2017, section 3), or its decoder alone, traced onto tapes.
 *
 * One `model` holds the settings, the plugins with their settings, and the learned values. Tapes are traced
 * from it for given shapes: one for training (loss and gradient), one for evaluation (loss), two for decoding
 * (encode; one step). The model owns params and the plugins' settings; a tape belongs to the caller
 * (tape_free), before model_free.
 */
#ifndef ABLATE_MODEL_H
#define ABLATE_MODEL_H
#include "config/config.h"
#include "graph/tape.h"
#include "plugin/plugin.h"

enum { ROLE_ENCODER, ROLE_DECODER, ROLE_CROSS, ROLES };

typedef struct param_group param_group; /* groups.h */

typedef struct model {
    config cfg;   /* resolved */
    settings set; /* the texts behind it: plugins' parameters, too */
    const plugin *attention[ROLES]; /* NULL: no such place in a decoder-only model */
    const plugin *position, *feed_forward, *norm, *block, *optimizer, *schedule;
    void *attention_cfg[ROLES], *position_cfg, *feed_forward_cfg, *norm_cfg, *block_cfg, *optimizer_cfg, *schedule_cfg;
    int64_t src_vocab, tgt_vocab; /* ids; src_vocab 0: decoder-only, no encoder and no cross attention */
    dtype compute;                /* of rows */
    const backend *backend;
    params params;
    param_group *groups; /* of the optimizer's settings, by param.group; [n_groups], the first is the run's own */
    int n_groups;
    table_cache tables; /* positions' tables, kept from trace to trace */
    bool keep_weights;  /* loss tapes keep attention weights by name (plugin/attention_context.h); they are never fused then */
    bool generic;       /* never fuse attention, or a norm with what is added: for `ablate check` */
    arena memory;
} model;

/* What its products multiply, in words: "fp32". */
static inline const char *model_precision(const model *m) { return m->params.int8 ? "int8" : dtype_name(m->compute); }

/* Finds the plugins, binds their settings, checks that they fit each other and the vocabularies, traces once
 * to learn every parameter, and fills in the first values from cfg.seed. `set` holds every setting of the
 * run. src_vocab 0: a decoder-only model. Its shapes and batches have no source (0 rows), and attention_encoder and
 * attention_cross are not looked at. */
int model_open(model *m, const settings *set, int64_t src_vocab, int64_t tgt_vocab, dtype compute,
               const backend *b, err *e);
void model_free(model *m);
static inline bool model_has_encoder(const model *m) { return m->src_vocab > 0; }
/* What an optimizer is told of a parameter. */
ab_parameter model_parameter(const param *p);
/* The kind of plugin that a key names; 0: none, or `attention`, which stands in for the three places. */
ab_kind model_plugin_kind(const char *key);
/* The plugins that the settings name, {"position":{"name":"rotary","sha256":"...","file":"/..."},...}: appended. */
int model_plugins_json(const settings *set, str *out, err *e);
/* Refuses what a table of the position or of an attention does not reach: a plugin with such a table names its length by
 * a parameter `max_len` (ab_plugin.h). needed: rows, [tokens]; why: a clause for the message. 0, or -1 and words. */
int model_check_reach(const model *m, int64_t needed, const char *why, err *e);

/* ---- shapes and inputs ---- */

typedef struct {
    int64_t batch;              /* sentences B */
    int64_t src_rows, tgt_rows; /* packed rows, dummy rows included */
    int64_t src_time, tgt_time; /* longest sentence of each side */
} model_shape;

/* Views of one batch; see data/batch.h for what they hold. Lengths are those before rounding up. */
typedef struct {
    model_shape shape;
    const int32_t *src_ids, *src_pos, *src_offset;
    const int32_t *tgt_in, *tgt_out, *tgt_pos, *tgt_offset;
} model_batch;

#define RECORDED "recorded "
/* Loss of one batch; with its gradient when `training`. Kept: "losses" [tgt_rows,2] (smoothed, plain; see CE
 * in op.h), and "logits" [tgt_rows, tgt_vocab] when not training. When training also RECORDED and the name of each number that plugins
 * record, its mean over layers, and "auxiliary", what their losses add to the sum of the losses; one element each. */
ab_ctx *model_loss_tape(model *m, const model_shape *s, bool training, err *e);
/* Does a loss tape of shape `all` serve every batch of its rows with no more sentences and no longer ones? Where all values are packed
 * rows it does, for then none depends on the number of sentences and on times: `one` batch's tape and those of other shapes are
 * traced and compared. Where values are laid out as [B,..,T,..] it does not, and none of the shape `all` is traced, which may be
 * large. */
bool model_shape_independent(model *m, const model_shape *one, const model_shape *all, bool training);
/* Inputs of a loss tape; a decoder-only model leaves a batch's source alone (target tokens counted for the mean: norm = 1 / tokens). */
void model_loss_inputs(ab_ctx *c, const model_batch *b, double norm);

/* Encoder alone. Inputs src.ids, src.pos, src.offset, src.len; kept: "memory" [src_rows, d_model]. */
ab_ctx *model_encode_tape(model *m, const model_shape *s, err *e);
void model_encode_inputs(ab_ctx *c, const model_batch *b);

/* One decoding step of `batch` sentences with `beam` hypotheses each, R = batch * beam rows, hypothesis h of
 * sentence b in row b * beam + h. Inputs of phase SETUP: memory [src_rows, d_model] (compute type),
 * src.offset [B+1], src.len [B]; of phase STEP: tgt.ids [R] (the tokens before), time [1], pos [R] (= time),
 * ancestors [R,capacity]: the row that held each earlier step of this hypothesis, parents [R]: the row this
 * hypothesis came from. Kept: "logits" [R, tgt_vocab]. States (caches) are asked for by name; `seen` > time:
 * how much of the past generic attention looks at. */
ab_ctx *model_step_tape(model *m, const model_shape *s, int64_t beam, int64_t capacity, int64_t seen, err *e);

/* As model_open, but without memory for the learned values: the model can be traced and counted (costs.h), not run. */
int model_open_to_count(model *m, const settings *set, int64_t src_vocab, int64_t tgt_vocab, dtype compute, const backend *b, err *e);

/* The formula of recipe.md; equals params_count for built-in attention and positions (tested). encoder: false of a decoder-only model. */
int64_t model_count_formula(const config *c, int64_t vocab, bool encoder);
/* Floating-point operations of one training step of the paper's Transformer over so many real tokens (forward and backward, products of
 * rows with weights only), for bench. costs.h counts those of any model. */
double model_flops(const model *m, double src_tokens, double tgt_tokens);
#endif
