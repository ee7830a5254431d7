/* trace.c - the forward pass of the Transformer, from top to bottom, in training, evaluation and decoding
 * alike.
 *
 * Sublayers (section 3.1, 5.4): post: x = LN(x + dropout(f(x))); pre: x = x + dropout(f(LN(x))), with a last
 * LN. Names of parameters: enc.0.self.qkv.w, dec.0.cross.kv.b, dec.0.ffn.1.w, enc.0.self.ln.g, embed ...;
 * weights [in, out].
 */
#include "model/model.h"
#include "plugin/attention_context.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    model *m;
    ab_ctx *c;
    model_shape s;
    ab_t src_off, src_len, src_pos_rows, tgt_off, tgt_len; /* ids [B+1], [B], [rows] */
    ab_t src_kpos, tgt_kpos;                               /* ids 0 .. time - 1 */
    /* decoding */
    bool decode;
    int64_t beam, capacity, seen;
    ab_t ancestors, parents, time, one_pos; /* one_pos: ids [1] = time */
    ab_t beam_off, beam_pos, row_off, row_len, past_pos;
} tracer;

static const char *scope(ab_ctx *c, const char *stack, int64_t layer, const char *part)
{
    return arena_printf(&c->memory, "%s.%lld.%s", stack, (long long)layer, part);
}

static ab_t counting(ab_ctx *c, int64_t n, int64_t step) /* ids 0, step, 2 step ... */
{
    int32_t *v = xmalloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = (int32_t)(i * step);
    ab_t y = t_ids(c, n, v);
    free(v);
    return y;
}
static ab_t repeated(ab_ctx *c, int64_t n, int32_t value)
{
    int32_t *v = xmalloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = value;
    ab_t y = t_ids(c, n, v);
    free(v);
    return y;
}

/* ---- what a plugin is told ---- */

static attn_context base_attn(tracer *t, int role, int64_t layer)
{
    static const uint32_t bits[ROLES] = {AB_SELF, AB_CAUSAL, AB_CROSS};
    const config *f = &t->m->cfg;
    return (attn_context){.info = {.heads = f->heads,
                          .d_k = f->d_k,
                          .d_v = f->d_v,
                          .d_model = f->d_model,
                          .layer = layer,
                          .n_layers = role == ROLE_ENCODER ? f->layers_encoder : f->layers_decoder,
                          .role = bits[role],
                          .training = t->c->training,
                          .dropout = t->c->training ? f->attention_dropout : 0},
                 .pos = role == ROLE_CROSS ? NULL : &t->m->position->iface.posenc,
                 .pos_cfg = t->m->position_cfg,
                 .bias = f->bias != 0,
                 .separate_init = f->qkv_init == QKV_SEPARATE,
                 .keep_weights = t->m->keep_weights,
                 .generic = t->m->generic || t->m->keep_weights,
                 .decode = t->decode,
                 .capacity = t->capacity,
                 .seen = t->seen,
                 .ancestors = t->ancestors,
                 .parents = t->parents,
                 .time = t->time};
}

/* Where a layer norm stands beside the plugin, its names are taken. */
static void begin_plugin(ab_ctx *c, attn_context *k, owner who, const char *where, bool normed)
{
    c->attn = k;
    c->scope = where;
    k->now = OF_HOST;
    if (normed) attn_claim(c, "ln.g"), attn_claim(c, "ln.b");
    k->now = who;
}

/* ---- embedding ---- */

static ab_t table(tracer *t, const char *name, int64_t vocab)
{
    t->c->scope = "";
    int64_t d = t->m->cfg.d_model;
    return attn_param(t->c, name, (int64_t[4]){1, 1, vocab, d}, -1 / sqrt((double)d), 0);
}
static ab_t source_table(tracer *t)
{
    return table(t, t->m->cfg.share_embeddings == SHARE_ALL ? "embed" : "src.embed", t->m->src_vocab);
}
static ab_t target_table(tracer *t)
{
    return table(t, t->m->cfg.share_embeddings == SHARE_ALL ? "embed" : "tgt.embed", t->m->tgt_vocab);
}
static ab_t softmax_table(tracer *t)
{
    return t->m->cfg.share_embeddings == SHARE_NONE ? table(t, "softmax", t->m->tgt_vocab) : target_table(t);
}

static ab_t embed(tracer *t, ab_t tbl, ab_t ids, ab_t pos, int role)
{
    ab_ctx *c = t->c;
    const ab_posenc *p = &t->m->position->iface.posenc;
    ab_t x = t_embed_tokens(c, tbl, ids, sqrt((double)t->m->cfg.d_model));
    if (p->embed) {
        attn_context k = base_attn(t, role, 0);
        begin_plugin(c, &k, OF_POSITION, role == ROLE_ENCODER ? "enc" : "dec", t->m->cfg.norm == NORM_PRE);
        x = tape_given(c, p->embed(c, t->m->position_cfg, x, pos), "position", t->m->position->desc.name);
        c->attn = NULL;
    }
    return t_cast(c, t_dropout(c, x, t->m->cfg.dropout), c->compute);
}

/* ---- sublayers ---- */

static ab_t layer_norm(tracer *t, ab_t x, ab_t s, const char *where)
{
    ab_ctx *c = t->c;
    const config *f = &t->m->cfg;
    int64_t dim[4] = {1, 1, 1, f->d_model};
    c->scope = where;
    ab_t gain = attn_param(c, "ln.g", dim, 0, 1), bias = attn_param(c, "ln.b", dim, 0, 0);
    return t_norm(c, x, s, gain, bias, f->dropout, f->layer_norm_eps);
}

static ab_t enter(tracer *t, ab_t x, const char *where) /* what the sublayer sees */
{
    return t->m->cfg.norm == NORM_PRE ? layer_norm(t, x, (ab_t){0}, where) : x;
}
static ab_t leave(tracer *t, ab_t x, ab_t s,
                  const char *where) /* the sublayer's output joined to the residual stream */
{
    if (!s.id) return s;
    return t->m->cfg.norm == NORM_PRE ? t_dropout_add(t->c, x, s, t->m->cfg.dropout) : layer_norm(t, x, s, where);
}

static ab_t feed_forward(tracer *t, ab_t x, const char *where)
{
    const config *f = &t->m->cfg;
    ab_t in = enter(t, x, where);
    t->c->scope = where;
    ab_t h = attn_linear(t->c, in, "1", f->d_ff, f->d_ff, 1, 1);
    ab_t s = attn_linear(t->c, t_dropout(t->c, h, f->relu_dropout), "2", f->d_model, f->d_model, 1, 0);
    return leave(t, x, s, where);
}

/* ---- attention: the geometry of each role, then the plugin ---- */

static void source_side(tracer *t, attn_context *k, bool queries)
{
    k->k_rows = t->s.src_rows, k->k_time = t->s.src_time, k->k_off = t->src_off, k->kpos = t->src_kpos,
    k->klen = t->src_len;
    k->batch = t->s.batch;
    if (queries)
        k->q_rows = t->s.src_rows, k->q_time = t->s.src_time, k->q_off = t->src_off, k->qpos = t->src_kpos;
}

static void target_queries(tracer *t, attn_context *k) /* of cross attention */
{
    if (t->decode)
        k->q_rows = t->s.batch * t->beam, k->q_time = t->beam, k->q_off = t->beam_off, k->qpos = t->beam_pos;
    else
        k->q_rows = t->s.tgt_rows, k->q_time = t->s.tgt_time, k->q_off = t->tgt_off, k->qpos = t->tgt_kpos;
}

static void target_self(tracer *t, attn_context *k)
{
    if (t->decode) { /* every hypothesis is a sentence of one query */
        int64_t rows = t->s.batch * t->beam;
        k->batch = k->q_rows = k->k_rows = rows;
        k->q_time = 1, k->k_time = 1;
        k->q_off = k->k_off = t->row_off;
        k->qpos = t->one_pos, k->kpos = t->past_pos, k->klen = t->row_len;
        return;
    }
    k->batch = t->s.batch;
    k->q_rows = k->k_rows = t->s.tgt_rows, k->q_time = k->k_time = t->s.tgt_time;
    k->q_off = k->k_off = t->tgt_off, k->qpos = k->kpos = t->tgt_kpos, k->klen = t->tgt_len;
}

static ab_t attention(tracer *t, int role, int64_t layer, ab_t x, ab_t mem, const char *where)
{
    ab_ctx *c = t->c;
    ab_t in = enter(t, x, where);
    if (!in.id) return in;
    attn_context k = base_attn(t, role, layer);
    k.x = in;
    k.mem = mem.id ? mem : in;
    if (role == ROLE_DECODER)
        target_self(t, &k);
    else
        source_side(t, &k, role == ROLE_ENCODER);
    if (role == ROLE_CROSS) target_queries(t, &k);
    const plugin *p = t->m->attention[role];
    begin_plugin(c, &k, OF_ATTENTION, where, true);
    ab_t s = tape_given(c, p->iface.attention.forward(c, t->m->attention_cfg[role], in, k.mem), "attention", p->desc.name);
    c->attn = NULL;
    char found[64];
    if (s.id && (tape_at(c, s)->dim[2] != k.q_rows || tape_at(c, s)->dim[3] != t->m->cfg.d_model))
        return tape_fail(c, "attention '%s' gave %s, expected rows [%lld,%lld]", p->desc.name,
                         shape_text(tape_at(c, s)->dim, found), (long long)k.q_rows,
                         (long long)t->m->cfg.d_model);
    c->file = NULL;
    return leave(t, x, s, where);
}

/* ---- the two stacks ---- */

static ab_t encoder(tracer *t, ab_t ids)
{
    ab_t x = embed(t, source_table(t), ids, t->src_pos_rows, ROLE_ENCODER);
    for (int64_t i = 0; i < t->m->cfg.layers_encoder; i++) {
        x = attention(t, ROLE_ENCODER, i, x, (ab_t){0}, scope(t->c, "enc", i, "self"));
        x = feed_forward(t, x, scope(t->c, "enc", i, "ffn"));
    }
    return t->m->cfg.norm == NORM_PRE ? layer_norm(t, x, (ab_t){0}, "enc") : x;
}

static ab_t decoder(tracer *t, ab_t ids, ab_t pos, ab_t memory)
{
    ab_t x = embed(t, target_table(t), ids, pos, ROLE_DECODER);
    for (int64_t i = 0; i < t->m->cfg.layers_decoder; i++) {
        x = attention(t, ROLE_DECODER, i, x, (ab_t){0}, scope(t->c, "dec", i, "self"));
        x = attention(t, ROLE_CROSS, i, x, memory, scope(t->c, "dec", i, "cross"));
        x = feed_forward(t, x, scope(t->c, "dec", i, "ffn"));
    }
    if (t->m->cfg.norm == NORM_PRE) x = layer_norm(t, x, (ab_t){0}, "dec");
    return t_linear(t->c, x, softmax_table(t), (ab_t){0}, 1, 0);
}

/* ---- tapes ---- */

static tracer begin(model *m, const model_shape *s, bool training)
{
    tracer t = {.m = m, .c = tape_new(&m->params, m->backend, m->compute, training), .s = *s};
    t.c->tables = &m->tables;
    return t;
}

static void source_inputs(tracer *t, phase ph, bool ids)
{
    ab_ctx *c = t->c;
    t->src_off = t_input(c, "src.offset", I32, ph, 1, 1, 1, t->s.batch + 1);
    t->src_len = t_input(c, "src.len", I32, ph, 1, 1, 1, t->s.batch);
    t->src_kpos = counting(c, t->s.src_time, 1);
    if (ids) t->src_pos_rows = t_input(c, "src.pos", I32, ph, 1, 1, 1, t->s.src_rows);
}

static ab_ctx *finish(tracer *t, err *e)
{
    if (!t->c->error.text[0]) return t->c;
    fail(e, "%s", t->c->error.text);
    tape_free(t->c);
    return NULL;
}

ab_ctx *model_loss_tape(model *m, const model_shape *s, bool training, err *e)
{
    tracer t = begin(m, s, training);
    ab_ctx *c = t.c;
    source_inputs(&t, PHASE_STEP, true);
    ab_t src = t_input(c, "src.ids", I32, PHASE_STEP, 1, 1, 1, s->src_rows);
    ab_t tgt_in = t_input(c, "tgt.in", I32, PHASE_STEP, 1, 1, 1, s->tgt_rows),
         tgt_out = t_input(c, "tgt.out", I32, PHASE_STEP, 1, 1, 1, s->tgt_rows);
    ab_t tgt_pos = t_input(c, "tgt.pos", I32, PHASE_STEP, 1, 1, 1, s->tgt_rows);
    ab_t norm = t_input(c, "norm", m->compute == F64 ? F64 : F32, PHASE_STEP, 1, 1, 1, 1);
    t.tgt_off = t_input(c, "tgt.offset", I32, PHASE_STEP, 1, 1, 1, s->batch + 1);
    t.tgt_len = t_input(c, "tgt.len", I32, PHASE_STEP, 1, 1, 1, s->batch);
    t.tgt_kpos = counting(c, s->tgt_time, 1);
    ab_t memory = encoder(&t, src);
    ab_t logits = decoder(&t, tgt_in, tgt_pos, memory);
    ab_t losses =
        t_ce(c, logits, tgt_out, norm, m->cfg.label_smoothing, m->cfg.label_smoothing_over == SMOOTH_OTHERS);
    t_keep(c, losses, "losses");
    if (!training) t_keep(c, logits, "logits"); /* in training its storage becomes the gradient's */
    if (training && losses.id) tape_backward(c, losses);
    return finish(&t, e);
}

ab_ctx *model_encode_tape(model *m, const model_shape *s, err *e)
{
    tracer t = begin(m, s, false);
    t.c->batch_invariant = true;
    source_inputs(&t, PHASE_STEP, true);
    ab_t src = t_input(t.c, "src.ids", I32, PHASE_STEP, 1, 1, 1, s->src_rows);
    t_keep(t.c, encoder(&t, src), "memory");
    return finish(&t, e);
}

ab_ctx *model_step_tape(model *m, const model_shape *s, int64_t beam, int64_t capacity, int64_t seen, err *e)
{
    tracer t = begin(m, s, false);
    ab_ctx *c = t.c;
    int64_t rows = s->batch * beam;
    c->batch_invariant = true;
    t.decode = true, t.beam = beam, t.capacity = capacity, t.seen = seen;
    source_inputs(&t, PHASE_SETUP, false);
    ab_t memory = t_input(c, "memory", m->compute, PHASE_SETUP, 1, 1, s->src_rows, m->cfg.d_model);
    ab_t ids = t_input(c, "tgt.ids", I32, PHASE_STEP, 1, 1, 1, rows),
         pos = t_input(c, "pos", I32, PHASE_STEP, 1, 1, 1, rows);
    t.time = t_input(c, "time", I32, PHASE_STEP, 1, 1, 1, 1);
    t.one_pos = t.time;
    t.ancestors = t_input(c, "ancestors", I32, PHASE_STEP, 1, 1, rows, capacity);
    t.parents = t_input(c, "parents", I32, PHASE_STEP, 1, 1, 1, rows);
    t.beam_pos = t_input(c, "beam.pos", I32, PHASE_STEP, 1, 1, 1, beam);
    t.beam_off = counting(c, s->batch + 1, beam);
    t.row_off = counting(c, rows + 1, 1);
    t.row_len = repeated(c, rows, (int32_t)seen);
    t.past_pos = counting(c, seen, 1);
    t_keep(c, decoder(&t, ids, pos, memory), "logits");
    return finish(&t, e);
}

/* ---- inputs ---- */

static void put(ab_ctx *c, const char *name, const void *data, size_t n)
{
    ab_t x = tape_find(c, name);
    tape_write(c, x, data, n * dtype_size(tape_at(c, x)->type)); /* unless nobody reads it: no positions, say */
}

/* First rows and lengths of n sentences; a tape made for more sentences has empty ones at the end. */
static void put_sentences(ab_ctx *c, const char *offsets, const char *lengths, const int32_t *offset, int64_t n)
{
    size_t room = (size_t)node_count(tape_at(c, tape_find(c, offsets)));
    int32_t *at = xmalloc(2 * room * sizeof *at), *len = at + room;
    for (size_t i = 0; i < room; i++) at[i] = offset[i < (size_t)n ? i : (size_t)n];
    for (size_t i = 0; i + 1 < room; i++) len[i] = at[i + 1] - at[i];
    put(c, offsets, at, room);
    put(c, lengths, len, room - 1);
    free(at);
}

void model_encode_inputs(ab_ctx *c, const model_batch *b)
{
    size_t rows = (size_t)b->shape.src_rows;
    put(c, "src.ids", b->src_ids, rows);
    put(c, "src.pos", b->src_pos, rows);
    put_sentences(c, "src.offset", "src.len", b->src_offset, b->shape.batch);
}

void model_loss_inputs(ab_ctx *c, const model_batch *b, double norm)
{
    size_t rows = (size_t)b->shape.tgt_rows;
    float norm32 = (float)norm;
    model_encode_inputs(c, b);
    put(c, "tgt.in", b->tgt_in, rows);
    put(c, "tgt.out", b->tgt_out, rows);
    put(c, "tgt.pos", b->tgt_pos, rows);
    put_sentences(c, "tgt.offset", "tgt.len", b->tgt_offset, b->shape.batch);
    put(c, "norm", c->compute == F64 ? (const void *)&norm : (const void *)&norm32, 1);
}
