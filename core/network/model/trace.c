/* trace.c - the forward pass of the Transformer in training, evaluation and decoding.
 *
 * Each stack embeds its tokens and runs its layers (layer.c); the decoder's rows become logits. Names of parameters
 * outside layers: embed, src.embed, src.ngrams, tgt.embed, softmax, and those of plugins below enc and dec.
 */
#include "base/cleanup.h"
#include "tensor/graph/padding.h"
#include "network/model/parametrization.h"
#include "network/model/trace.h"
#include <math.h>

static ab_t counting(ab_ctx *c, int64_t n, int64_t first, int64_t step) /* the ids first, first + step, ... */
{
    AUTOFREE int32_t *v = xmalloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = (int32_t)(first + i * step);
    return t_ids(c, n, v);
}

ab_t trace_scaled(ab_ctx *c, ab_t x, double factor)
{
    if (!x.id || factor == 1) return x;
    dtype type = tape_at(c, x)->type; /* BF16 rows have no product with a number */
    return t_cast(c, t_mul_scalar(c, t_cast(c, x, type == BF16 ? F32 : type), factor), type);
}

/* ---- embedding ---- */

static ab_t table(tracer *t, const char *name, int64_t vocab)
{
    t->c->scope = "";
    int64_t d = t->m->cfg.d_model;
    ab_t x = attn_param(t->c, name, (int64_t[4]){1, 1, vocab, d}, -1 / sqrt(embedding_width(&t->m->cfg)), 0);
    if (x.id) t->m->params.p[tape_at(t->c, x)->param].kind = AB_EMBEDDING;
    return x;
}
static ab_t source_table(tracer *t)
{
    return table(t, t->m->cfg.share_embeddings == SHARE_ALL ? "embed" : "src.embed", t->m->src_vocab);
}
static ab_t target_table(tracer *t)
{
    return table(t, t->m->cfg.share_embeddings == SHARE_ALL ? "embed" : "tgt.embed", t->m->tgt_vocab);
}
ab_t trace_softmax_table(tracer *t)
{
    return t->m->cfg.share_embeddings == SHARE_NONE ? table(t, "softmax", t->m->tgt_vocab) : target_table(t);
}

/* The vectors [V,d] added to source tokens: means over a token's n-grams (Bojanowski et al. 2017, section 3.2). */
static ab_t composed_table(tracer *t)
{
    model *m = t->m;
    ab_ctx *c = t->c;
    int64_t v = m->src_vocab, n = m->ngram.n;
    AUTOFREE double *share = xcalloc((size_t)v, sizeof *share);
    for (int64_t i = 0; i < n; i++) share[m->ngram.token[i]]++;
    for (int64_t i = 0; i < v; i++) share[i] = share[i] > 0 ? 1 / share[i] : 0;
    ab_t vectors = table(t, "src.ngrams", m->cfg.char_ngrams);
    ab_t sums = t_sum_rows_by_id(c, t_embedding(c, vectors, t_ids(c, n, m->ngram.id)), t_ids(c, n, m->ngram.token), v);
    return t_binary(c, OP_MUL, sums, t_const(c, (int64_t[4]){1, 1, v, 1}, share));
}

/* An input with sorted ids for a device's gradient; model_loss_inputs sorts them. */
static ab_t sorted_ids(tracer *t, ab_t ids, const char *name)
{
    const backend *b = t->m->backend;
    if (!t->c->training || !b || !b->embeds_tokens) return (ab_t){0};
    return t_input(t->c, name, I32, PHASE_STEP, 1, 1, 2, node_count(tape_at(t->c, ids)));
}
static ab_t embed(tracer *t, ab_t tbl, ab_t ids, ab_t pos, int role)
{
    ab_ctx *c = t->c;
    c->names = NULL;
    ab_t sorted = sorted_ids(t, ids, role == ROLE_ENCODER ? "src.sorted" : "tgt.sorted");
    double scale = sqrt(embedding_width(&t->m->cfg));
    ab_t x = t_embed_tokens(c, tbl, ids, sorted, scale);
    if (role == ROLE_ENCODER && t->m->cfg.char_ngrams)
        x = t_binary(c, OP_ADD, x, t_mul_scalar(c, t_embedding(c, composed_table(t), ids), scale));
    return t_embedded(c, trace_embed_position(t, role, x, pos), t->m->cfg.dropout);
}

/* ---- the two stacks ---- */

static ab_t encoder(tracer *t, ab_t ids)
{
    ab_t x = embed(t, source_table(t), ids, t->src_pos_rows, ROLE_ENCODER);
    for (int64_t i = 0; i < t->m->cfg.layers_encoder; i++) x = trace_layer(t, ROLE_ENCODER, i, x, (ab_t){0});
    return trace_finish(t, ROLE_ENCODER, x);
}

/* Padding of logits' rows in training on a device: each row begins at a multiple of 16 bytes, because the products with
 * a vocabulary of odd size have no fast kernels otherwise. None elsewhere, where logits are read as [rows, vocabulary],
 * and none for a small vocabulary. */
static int64_t padding(const tracer *t)
{
    enum { COLUMNS = 8, WORTH_IT = 64 };
    int64_t v = t->m->tgt_vocab;
    return t->c->training && on_device(t->m->backend) && v > WORTH_IT ? (COLUMNS - v % COLUMNS) % COLUMNS : 0;
}

/* Runs the decoder; returns its last rows, the head's input. */
static ab_t decoder(tracer *t, ab_t ids, ab_t pos, ab_t memory)
{
    ab_t x = embed(t, target_table(t), ids, pos, ROLE_DECODER);
    for (int64_t i = 0; i < t->m->cfg.layers_decoder; i++) x = trace_layer(t, ROLE_DECODER, i, x, memory);
    x = trace_finish(t, ROLE_DECODER, x);
    return trace_scaled(t->c, x, 1 / width_ratio(&t->m->cfg));
}

/* ---- tapes ---- */

static tracer begin(model *m, const model_shape *s, bool training)
{
    tracer t = {.m = m, .c = tape_new(&m->params, m->backend, m->compute, training), .s = *s};
    t.c->tables = &m->tables;
    t.c->prints = m->prints;
    return t;
}

static void source_inputs(tracer *t, phase ph, bool ids)
{
    ab_ctx *c = t->c;
    t->src_off = t_input(c, "src.offset", I32, ph, 1, 1, 1, t->s.batch + 1);
    t->src_len = t_input(c, "src.len", I32, ph, 1, 1, 1, t->s.batch);
    t->src_kpos = counting(c, t->s.src_time, 0, 1);
    if (ids) t->src_pos_rows = t_input(c, "src.pos", I32, ph, 1, 1, 1, t->s.src_rows);
}

static ab_ctx *finish(tracer *t, err *e)
{
    if (!t->c->error.text[0]) return t->c;
    fail(e, "%s", t->c->error.text);
    tape_free(t->c);
    return NULL;
}

/* ---- numbers that plugins record ---- */

static ab_t sum_of(ab_ctx *c, ab_t a, ab_t b) { return a.id ? t_binary(c, OP_ADD, a, b) : b; }

/* Averages the values recorded under this name, element by element. Returns [n], n as in the longest value. */
static ab_t mean_recorded(ab_ctx *c, const noted *first)
{
    double share[AB_LOG_MOST] = {0};
    int64_t n = 0;
    ab_t sum = {0};
    for (const noted *r = first; r; r = r->next)
        if (same(r->name, first->name) && tape_at(c, r->value)->dim[3] > n) n = tape_at(c, r->value)->dim[3];
    for (const noted *r = first; r; r = r->next) {
        if (!same(r->name, first->name)) continue;
        int64_t own = tape_at(c, r->value)->dim[3];
        double none[AB_LOG_MOST] = {0};
        ab_t rest = own < n ? t_const(c, (int64_t[4]){1, 1, 1, n - own}, none) : (ab_t){0};
        sum = sum_of(c, sum, rest.id ? t_concat(c, r->value, rest, -1) : r->value);
        for (int64_t i = 0; i < own; i++) share[i]++;
    }
    if (share[n - 1] == share[0]) return t_mul_scalar(c, t_add_scalar(c, sum, 0), 1 / share[0]);
    for (int64_t i = 0; i < n; i++) share[i] = 1 / share[i];
    return t_binary(c, OP_MUL, sum, t_const(c, (int64_t[4]){1, 1, 1, n}, share));
}

/* Keeps each name's mean as "recorded NAME", and the weighted sum of auxiliary losses as "auxiliary". The loss is a sum
 * over target tokens times norm, so an auxiliary loss, a mean, is multiplied by norm * target tokens. */
static void keep_recorded(ab_ctx *c, ab_t norm, ab_t tgt_out)
{
    ab_t all = {0};
    for (const noted *r = c->recorded; r; r = r->next) {
        if (!r->weight) continue;
        if (!c->loss_scale.id) {
            ab_t none = one_number(c, -1), known = t_binary(c, OP_LESS_THAN, none, t_to_float(c, tgt_out));
            ab_t tokens = t_sum_to(c, known, (int64_t[4]){1, 1, 1, 1});
            c->loss_scale = t_binary(c, OP_MUL, norm, tokens);
        }
        all = sum_of(c, all, t_mul_scalar(c, t_binary(c, OP_MUL, r->value, c->loss_scale), r->weight));
    }
    t_keep(c, all, "auxiliary");
    for (const noted *r = c->recorded; r; r = r->next) {
        const char *name = arena_printf(&c->memory, RECORDED "%s", r->name);
        if (tape_find(c, name).id) continue;
        t_keep(c, mean_recorded(c, r), name);
    }
}

ab_ctx *model_loss_tape(model *m, const model_shape *s, bool training, err *e)
{
    tracer t = begin(m, s, training);
    ab_ctx *c = t.c;
    phase ph = m->keep_influence ? PHASE_SETUP : PHASE_STEP;
    ab_t src = {0}, memory = {0};
    if (model_has_encoder(m)) {
        source_inputs(&t, ph, true);
        src = t_input(c, "src.ids", I32, ph, 1, 1, 1, s->src_rows);
    }
    ab_t tgt_in = t_input(c, "tgt.in", I32, ph, 1, 1, 1, s->tgt_rows),
         tgt_out = t_input(c, "tgt.out", I32, ph, 1, 1, 1, s->tgt_rows);
    ab_t tgt_pos = t_input(c, "tgt.pos", I32, ph, 1, 1, 1, s->tgt_rows);
    ab_t norm = t_input(c, "norm", m->compute == F64 ? F64 : F32, ph, 1, 1, 1, 1);
    t.tgt_off = t_input(c, "tgt.offset", I32, ph, 1, 1, 1, s->batch + 1);
    t.tgt_len = t_input(c, "tgt.len", I32, ph, 1, 1, 1, s->batch);
    t.tgt_kpos = counting(c, s->tgt_time, 0, 1);
    t.src_ids = src, t.tgt_ids = tgt_in;
    if (model_has_encoder(m)) memory = t.memory = encoder(&t, src);
    ab_t last = decoder(&t, tgt_in, tgt_pos, memory), logits = trace_logits(&t, last, padding(&t));
    logits = trace_losses(&t, last, logits, tgt_out);
    ab_t losses = t_ce(c, logits, tgt_out, norm, m->cfg.label_smoothing, m->cfg.label_smoothing_over == SMOOTH_OTHERS);
    t_keep(c, losses, "losses");
    if (!training && m->wide_logits) logits = t_cast(c, logits, c->compute == F64 ? F64 : F32);
    if (!training) t_keep(c, logits, "logits"); /* in training the gradient overwrites logits */
    if (training && losses.id) {
        keep_recorded(c, norm, tgt_out);
        tape_backward(c, losses);
    }
    return finish(&t, e);
}

ab_ctx *model_encode_tape(model *m, const model_shape *s, err *e)
{
    tracer t = begin(m, s, false);
    t.c->batch_invariant = true;
    source_inputs(&t, PHASE_STEP, true);
    ab_t src = t_input(t.c, "src.ids", I32, PHASE_STEP, 1, 1, 1, s->src_rows);
    t.src_ids = src;
    t_keep(t.c, encoder(&t, src), "memory");
    return finish(&t, e);
}

ab_ctx *model_step_tape(model *m, const model_shape *s, const model_step *step, err *e)
{
    tracer t = begin(m, s, false);
    ab_ctx *c = t.c;
    int64_t rows = s->batch * step->beam;
    c->batch_invariant = true;
    t.decode = true, t.step = *step;
    ab_t memory = {0};
    if (model_has_encoder(m)) {
        source_inputs(&t, PHASE_SETUP, false);
        memory = t_input(c, "memory", m->compute, PHASE_SETUP, 1, 1, s->src_rows, m->cfg.d_model);
    }
    ab_t ids = t_input(c, "tgt.ids", I32, PHASE_STEP, 1, 1, 1, rows),
         pos = t_input(c, "pos", I32, PHASE_STEP, 1, 1, 1, rows);
    t.tgt_ids = ids;
    t.time = t_input(c, "time", I32, PHASE_STEP, 1, 1, 1, step->block ? rows : 1);
    t.one_pos = step->block ? t_input(c, "one.time", I32, PHASE_STEP, 1, 1, 1, 1) : t.time;
    t.ancestors = t_input(c, "ancestors", I32, PHASE_STEP, 1, 1, rows, step->capacity);
    t.parents = t_input(c, "parents", I32, PHASE_STEP, 1, 1, 1, rows);
    t.beam_pos = t_input(c, "beam.pos", I32, PHASE_STEP, 1, 1, 1, step->beam);
    t.beam_off = counting(c, s->batch + 1, 0, step->beam);
    t.row_off = counting(c, rows + 1, 0, 1);
    t.row_len = counting(c, rows, step->seen, 0);
    t.past_pos = counting(c, step->seen, 0, 1);
    ab_t last = decoder(&t, ids, pos, memory);
    t_keep(c, trace_logits(&t, last, 0), "logits");
    for (int64_t by = 1; by <= step->ahead; by++)
        t_keep(c, trace_proposal(&t, last, by), arena_printf(&c->memory, "proposal.%lld", (long long)by));
    return finish(&t, e);
}

/* ---- inputs ---- */

static void place(ab_ctx *c, const char *name, const void *data, size_t n)
{
    ab_t x = tape_find(c, name);
    tape_write(c, x, data, n * dtype_size(tape_at(c, x)->type)); /* writes nothing if nothing reads x (positions) */
}

/* Writes first rows and lengths of n sentences; the tape's remaining sentences are empty. */
static void place_sentences(ab_ctx *c, const char *offsets, const char *lengths, const int32_t *offset, int64_t n)
{
    size_t room = (size_t)node_count(tape_at(c, tape_find(c, offsets)));
    AUTOFREE int32_t *at = xmalloc(2 * room * sizeof *at);
    int32_t *len = at + room;
    for (size_t i = 0; i < room; i++) at[i] = offset[i < (size_t)n ? i : (size_t)n];
    for (size_t i = 0; i + 1 < room; i++) len[i] = at[i + 1] - at[i];
    place(c, offsets, at, room);
    place(c, lengths, len, room - 1);
}

/* Writes the rows in order of their ids (stable), then the sorted ids, for a kernel that does not sort. */
static void place_sorted(ab_ctx *c, const char *name, const int32_t *ids, size_t n)
{
    int32_t most = -1;
    for (size_t i = 0; i < n; i++)
        if (ids[i] > most) most = ids[i];
    size_t ends = (size_t)most + 2; /* ids below 0 are sorted last */
    AUTOFREE int32_t *order = xmalloc((2 * n + 1) * sizeof *order), *end = xcalloc(ends + 1, sizeof *end);
    for (size_t i = 0; i < n; i++) end[(ids[i] < 0 ? ends - 1 : (size_t)ids[i]) + 1]++;
    for (size_t k = 1; k <= ends; k++) end[k] += end[k - 1];
    for (size_t i = 0; i < n; i++) {
        int32_t at = end[ids[i] < 0 ? ends - 1 : (size_t)ids[i]]++;
        order[at] = (int32_t)i;
        order[n + (size_t)at] = ids[i] < 0 ? INT32_MAX : ids[i];
    }
    place(c, name, order, 2 * n);
}

void model_encode_inputs(ab_ctx *c, const model_batch *b)
{
    size_t rows = (size_t)b->shape.src_rows;
    place(c, "src.ids", b->src_ids, rows);
    place(c, "src.pos", b->src_pos, rows);
    place_sentences(c, "src.offset", "src.len", b->src_offset, b->shape.batch);
    if (tape_find(c, "src.sorted").id) place_sorted(c, "src.sorted", b->src_ids, rows);
}

/* Writes made-up logits in [-2, 2]. */
static void place_made_up(ab_ctx *c, ab_t x)
{
    size_t n = (size_t)node_count(tape_at(c, x));
    bool wide = tape_at(c, x)->type == F64;
    AUTOFREE double *v = xmalloc(n * sizeof *v + 1);
    for (size_t i = 0; i < n; i++) {
        double y = 2 * sin(0.7 * (double)i);
        if (wide)
            v[i] = y;
        else
            ((float *)v)[i] = (float)y;
    }
    place(c, TEACHER_MADE_UP, v, n);
}

void model_loss_inputs(ab_ctx *c, const model_batch *b, double norm)
{
    ab_t made_up = tape_find(c, TEACHER_MADE_UP);
    if (made_up.id) place_made_up(c, made_up);
    size_t rows = (size_t)b->shape.tgt_rows;
    float norm32 = (float)norm;
    if (tape_find(c, "src.ids").id) model_encode_inputs(c, b);
    place(c, "tgt.in", b->tgt_in, rows);
    place(c, "tgt.out", b->tgt_out, rows);
    place(c, "tgt.pos", b->tgt_pos, rows);
    if (tape_find(c, "tgt.sorted").id) place_sorted(c, "tgt.sorted", b->tgt_in, rows);
    place_sentences(c, "tgt.offset", "tgt.len", b->tgt_offset, b->shape.batch);
    place(c, "norm", c->compute == F64 ? (const void *)&norm : (const void *)&norm32, 1);
}
