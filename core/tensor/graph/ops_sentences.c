/* ops_sentences.c - operations on packed rows by sentence: attention, rotations, recurrences, decoding. */
#include "tensor/graph/grad.h"
#include "tensor/graph/score.h"
#include "tensor/graph/tape.h"
#include <string.h>

/* ---- attention on packed rows ---- */

static ab_t rotate(ab_ctx *c, ab_t rows, ab_t cosine, ab_t sine, ab_t offset, attr a)
{
    const node *v = tape_at(c, rows);
    return tape_push(c, OP_ROTATE, v->type, v->dim, 4, (ab_t[]){rows, cosine, sine, offset}, &a);
}
ab_t t_rotate(ab_ctx *c, ab_t rows, ab_t cosine, ab_t sine, ab_t offset, int64_t col, int64_t heads)
{
    GIVEN2(rows, cosine);
    GIVEN2(sine, offset);
    int64_t d = tape_at(c, cosine)->dim[3], width = tape_at(c, rows)->dim[3];
    if (d % 2 || col + heads * d > width)
        return tape_fail(
            c, "rotate: found %lld heads of %lld columns from column %lld, expected an even width within rows of %lld",
            (long long)heads, (long long)d, (long long)col, (long long)width);
    return rotate(c, rows, cosine, sine, offset, (attr){.ROTATE = {.column = col, .heads = heads, .width = d}});
}
static void rotate_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    v.a.ROTATE.adjoint = !v.a.ROTATE.adjoint;
    grad_add(c, v.i.ROTATE.rows,
             rotate(c, dy, (ab_t){v.i.ROTATE.cosine}, (ab_t){v.i.ROTATE.sine}, (ab_t){v.i.ROTATE.offsets}, v.a));
}

attr t_attend_attr(const attend_spec *s, int64_t rows)
{
    return (attr){.ATTEND = {.p = s->dropout,
                             .scale = s->scale,
                             .q_column = s->col[0],
                             .k_column = s->col[1],
                             .v_column = s->col[2],
                             .heads = s->heads,
                             .d_k = s->d_k,
                             .d_v = s->d_v,
                             .causal = s->causal,
                             .most_keys = s->longest_key,
                             .most_queries = s->longest_query ? s->longest_query : rows}};
}

ab_t t_attend(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t q_off, ab_t k_off, const attend_spec *s)
{
    GIVEN2(q, k);
    GIVEN2(v, q_off);
    GIVEN1(k_off);
    if (k.id != v.id) return tape_fail(c, "attend: keys and values must be columns of one tensor");
    int64_t rows = tape_at(c, q)->dim[2], d[4] = {1, 1, rows, s->heads * s->d_v};
    attr a = t_attend_attr(s, rows);
    if (!c->training) a.ATTEND.p = 0;
    if (a.ATTEND.p > 0) a.ATTEND.place = c->n_dropout++;
    if (a.ATTEND.p > 0 && s->longest_key > ATTEND_KEYS)
        return tape_fail(c, "attention with dropout: found a sentence of %lld keys, expected at most %d",
                         (long long)s->longest_key, ATTEND_KEYS);
    ab_t y = tape_push(c, OP_ATTEND, c->compute, d, 5, (ab_t[]){q, k, v, q_off, k_off}, &a);
    shape_part(c, y, OUTPUT(ATTEND, lse), sum_type(c), (int64_t[4]){1, 1, rows, s->heads});
    return y;
}
static void attend_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t q = {v.i.ATTEND.q}, k = {v.i.ATTEND.k};
    ab_t in[8] = {
        q, k, {v.i.ATTEND.v}, {v.i.ATTEND.q_offsets}, {v.i.ATTEND.k_offsets}, y, tape_part(c, y, OUTPUT(ATTEND, lse)),
        dy};
    ab_t g = tape_push(c, OP_ATTEND_BACK, v.type, tape_at(c, q)->dim, 8, in, &v.a);
    if (q.id == k.id)
        drop_part(c, g, OUTPUT(ATTEND_BACK, dkv));
    else
        shape_part(c, g, OUTPUT(ATTEND_BACK, dkv), v.type, tape_at(c, k)->dim);
    grad_add(c, q.id, g);
    if (q.id != k.id) grad_add(c, k.id, tape_part(c, g, OUTPUT(ATTEND_BACK, dkv)));
}

/* ---- layers along each sentence ---- */

/* Checks that w has `rows` rows and `columns` columns (0: any); false after an error. */
static bool weighs(ab_ctx *c, const char *what, ab_t x, ab_t w, int64_t rows, int64_t columns)
{
    const int64_t *d = tape_at(c, w)->dim;
    char sx[64], sw[64];
    if (d[2] == rows && (!columns || d[3] == columns)) return true;
    tape_fail(c, "%s: rows %s do not fit weights %s", what, shape_text(tape_at(c, x)->dim, sx), shape_text(d, sw));
    return false;
}

ab_t t_recurrent(ab_ctx *c, ab_t x, ab_t u, ab_t offset, int lstm, int backwards)
{
    x = number(c, x), u = number(c, u);
    GIVEN2(x, u);
    GIVEN1(offset);
    int64_t units = tape_at(c, u)->dim[2], wide = (lstm ? 4 : 3) * units, rows = tape_at(c, x)->dim[2];
    if (!weighs(c, lstm ? "lstm" : "gru", x, u, units, wide)) return (ab_t){0};
    if (tape_at(c, x)->dim[3] != wide)
        return tape_fail(c, "%s: rows of %lld numbers, expected %lld", lstm ? "lstm" : "gru",
                         (long long)tape_at(c, x)->dim[3], (long long)wide);
    ab_t y = tape_push(c, OP_RECURRENT, sum_type(c), (int64_t[4]){1, 1, rows, units}, 3, (ab_t[]){x, u, offset},
                       &(attr){.RECURRENT = {.lstm = lstm, .backwards = backwards}});
    shape_part(c, y, OUTPUT(RECURRENT, kept), sum_type(c), (int64_t[4]){1, 1, rows, wide + units});
    return y;
}
static void recurrent_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t x = {v.i.RECURRENT.x}, u = {v.i.RECURRENT.u},
         in[5] = {u, {v.i.RECURRENT.offsets}, y, tape_part(c, y, OUTPUT(RECURRENT, kept)), dy};
    ab_t g = tape_push(c, OP_RECURRENT_BACK, v.type, tape_at(c, x)->dim, 5, in, &v.a), dq = g;
    shape_part(c, g, OUTPUT(RECURRENT_BACK, before), v.type, v.dim);
    if (v.a.RECURRENT.lstm) {
        drop_part(c, g, OUTPUT(RECURRENT_BACK, dq));
    } else {
        shape_part(c, g, OUTPUT(RECURRENT_BACK, dq), v.type, tape_at(c, x)->dim);
        dq = tape_part(c, g, OUTPUT(RECURRENT_BACK, dq));
    }
    grad_add(c, x.id, g);
    if (!grad_wanted(c, u.id)) return;
    ab_t du = push2(c, OP_LINEAR_DW, tape_part(c, g, OUTPUT(RECURRENT_BACK, before)), dq, tape_at(c, u)->dim, NULL);
    drop_part(c, du, OUTPUT(LINEAR_DW, db));
    grad_add(c, u.id, du);
}

ab_t t_neighbours(ab_ctx *c, ab_t x, ab_t offset, int64_t before, int64_t behind)
{
    GIVEN2(x, offset);
    const node *v = tape_at(c, x);
    int64_t d[4] = {1, 1, v->dim[2], (before + 1 + behind) * v->dim[3]};
    return push2(c, OP_NEIGHBOURS, x, offset, d, &(attr){.NEIGHBOURS = {.before = before, .behind = behind}});
}
static void neighbours_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t x = {v.i.NEIGHBOURS.x}, offset = {v.i.NEIGHBOURS.offsets};
    grad_add(c, x.id, push2(c, OP_NEIGHBOURS_BACK, dy, offset, tape_at(c, x)->dim, &v.a));
}

ab_t t_depthwise_conv(ab_ctx *c, ab_t x, ab_t w, ab_t offset, int64_t before)
{
    GIVEN2(x, w);
    GIVEN1(offset);
    x = t_cast(c, x, c->compute), w = number(c, w);
    if (!weighs(c, "depthwise_conv", x, w, tape_at(c, w)->dim[2], tape_at(c, x)->dim[3])) return (ab_t){0};
    return tape_push(c, OP_DEPTHWISE_CONV, c->compute, tape_at(c, x)->dim, 3, (ab_t[]){x, w, offset},
                     &(attr){.DEPTHWISE_CONV = {.before = before}});
}
static void depthwise_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t in[4] = {{v.i.DEPTHWISE_CONV.x}, {v.i.DEPTHWISE_CONV.w}, {v.i.DEPTHWISE_CONV.offsets}, dy};
    ab_t g = tape_push(c, OP_DEPTHWISE_CONV_BACK, v.type, v.dim, 4, in, &v.a);
    shape_part(c, g, OUTPUT(DEPTHWISE_CONV_BACK, dw), sum_type(c), c->v[v.i.DEPTHWISE_CONV.w].dim);
    grad_add(c, v.i.DEPTHWISE_CONV.x, g);
    grad_add(c, v.i.DEPTHWISE_CONV.w, tape_part(c, g, OUTPUT(DEPTHWISE_CONV_BACK, dw)));
}

static ab_t long_conv(ab_ctx *c, ab_t x, ab_t h, ab_t offset, attr a)
{
    return tape_push(c, OP_LONG_CONV, tape_at(c, x)->type, tape_at(c, x)->dim, 3, (ab_t[]){x, h, offset}, &a);
}
ab_t t_long_conv(ab_ctx *c, ab_t x, ab_t h, ab_t offset, int backwards)
{
    x = number(c, x), h = number(c, h);
    GIVEN2(x, h);
    GIVEN1(offset);
    if (!weighs(c, "long_conv", x, h, tape_at(c, h)->dim[2], tape_at(c, x)->dim[3])) return (ab_t){0};
    return long_conv(c, x, h, offset, (attr){.LONG_CONV = {.backwards = backwards}});
}
static void long_conv_rule(ab_ctx *c, ab_t y, ab_t dy) /* x's gradient is the same convolution in the other direction */
{
    node v = *tape_at(c, y);
    ab_t x = {v.i.LONG_CONV.x}, h = {v.i.LONG_CONV.h}, offset = {v.i.LONG_CONV.offsets};
    if (grad_wanted(c, h.id))
        grad_add(c, h.id,
                 tape_push(c, OP_LONG_CONV_FILTER, v.type, tape_at(c, h)->dim, 3, (ab_t[]){x, dy, offset}, &v.a));
    v.a.LONG_CONV.backwards = !v.a.LONG_CONV.backwards;
    if (grad_wanted(c, x.id)) grad_add(c, x.id, long_conv(c, dy, h, offset, v.a));
}

/* ---- decoding: states carried from step to step ---- */

ab_t t_attend_step(ab_ctx *c, ab_t qkv, ab_t cache, ab_t ancestors, ab_t time, const attend_spec *s)
{
    GIVEN2(qkv, cache);
    GIVEN2(ancestors, time);
    attr a = t_attend_attr(s, 1);
    a.ATTEND.p = 0;
    int64_t d[4] = {1, 1, tape_at(c, qkv)->dim[2], s->heads * s->d_v};
    return tape_push(c, OP_ATTEND_STEP, c->compute, d, 4, (ab_t[]){qkv, cache, ancestors, time}, &a);
}

ab_t t_kv_cache_append(ab_ctx *c, ab_t x, ab_t cache, ab_t ancestors, ab_t time, int64_t seen)
{
    GIVEN2(x, cache);
    GIVEN2(ancestors, time);
    node *v = tape_at(c, x);
    int64_t d[4] = {v->dim[0], v->dim[1], seen, v->dim[3]};
    return tape_push(c, OP_KV_CACHE_APPEND, v->type, d, 4, (ab_t[]){x, cache, ancestors, time}, NULL);
}

ab_t t_cache_reorder(ab_ctx *c, ab_t state, ab_t parents)
{
    GIVEN2(state, parents);
    return push2(c, OP_CACHE_REORDER, state, parents, tape_at(c, state)->dim, NULL);
}

void t_state_write(ab_ctx *c, ab_t state, ab_t value)
{
    if (!state.id || !value.id) return;
    value = t_cast(c, value, tape_at(c, state)->type);
    ab_t y = push2(c, OP_STATE_WRITE, state, value, tape_at(c, state)->dim, NULL);
    tape_at(c, y)->live = true;
    tape_at(c, y)->phase = PHASE_STEP;
}

const grad_rule sentence_rules[OP_COUNT] = {
    [OP_ATTEND] = attend_rule,       [OP_ATTEND_PROGRAM] = attend_program_rule,
    [OP_RECURRENT] = recurrent_rule, [OP_NEIGHBOURS] = neighbours_rule,
    [OP_ROTATE] = rotate_rule,       [OP_DEPTHWISE_CONV] = depthwise_rule,
    [OP_LONG_CONV] = long_conv_rule,
};

/* ---- samples ---- */

static ab_t sample_attention(ab_ctx *c, ab_t q, ab_t kv, attend_spec spec)
{
    ab_t rows = t_cast(c, q, c->compute), memory = q.id == kv.id ? rows : t_cast(c, kv, c->compute),
         k_offsets = SAMPLE_IDS(0, 4, 6), q_offsets = q.id == kv.id ? k_offsets : SAMPLE_IDS(0, 2, 5);
    return t_attend(c, rows, memory, memory, q_offsets, k_offsets, &spec);
}
SAMPLE(attend, sample_attention(c, in[0], in[0], (attend_spec){{0, 6, 12}, 2, 3, 2, 0.7, 0, 0, 4, 0}))
SAMPLE(attend_causal, sample_attention(c, in[0], in[0], (attend_spec){{0, 6, 12}, 2, 3, 2, 0.7, 0.3, 1, 4, 0}))
SAMPLE(attend_cross, sample_attention(c, in[0], in[1], (attend_spec){{1, 0, 6}, 2, 3, 2, 0.7, 0, 0, 4, 0}))
static ab_t sample_rotate(ab_ctx *c, const ab_t *in) /* no cosine and sine: the rule must work for any numbers */
{
    double cosine[24], sine[24];
    for (int i = 0; i < 24; i++) cosine[i] = 1 - i % 5 * 0.4, sine[i] = i % 7 * 0.3 - 1;
    int64_t d[4] = {1, 1, 4, 6};
    return t_rotate(c, t_cast(c, in[0], c->compute), t_const(c, d, cosine), t_const(c, d, sine), SAMPLE_IDS(0, 4, 6), 1,
                    2);
}
SAMPLE(gru, t_recurrent(c, in[0], in[1], SAMPLE_IDS(0, 4, 6), 0, 0))
SAMPLE(gru_back, t_recurrent(c, in[0], in[1], SAMPLE_IDS(0, 2, 6), 0, 1))
SAMPLE(lstm, t_recurrent(c, in[0], in[1], SAMPLE_IDS(0, 4, 6), 1, 0))
SAMPLE(lstm_back, t_recurrent(c, in[0], in[1], SAMPLE_IDS(0, 2, 6), 1, 1))
SAMPLE(neighbours, t_neighbours(c, t_cast(c, in[0], c->compute), SAMPLE_IDS(0, 4, 6), 2, 1))
SAMPLE(depthwise, t_depthwise_conv(c, in[0], in[1], SAMPLE_IDS(0, 4, 6), 3))
SAMPLE(depthwise_around, t_depthwise_conv(c, in[0], in[1], SAMPLE_IDS(0, 4, 6), 1))
SAMPLE(long_conv, t_long_conv(c, in[0], in[1], SAMPLE_IDS(0, 4, 6), 0))
SAMPLE(long_conv_back, t_long_conv(c, in[0], in[1], SAMPLE_IDS(0, 4, 6), 1))

const op_sample sentence_samples[] = {
    {"ATTEND", sample_attend, .dim = {{1, 1, 7, 16}}},
    {"ATTEND, causal", sample_attend_causal, .dim = {{1, 1, 7, 16}}},
    {"ATTEND, causal, under dropout", sample_attend_causal, .dim = {{1, 1, 7, 16}}, .training = true},
    {"ATTEND from one side to another", sample_attend_cross, .dim = {{1, 1, 5, 7}, {1, 1, 7, 10}}},
    {"RECURRENT, a GRU", sample_gru, .dim = {{1, 1, 7, 15}, {1, 1, 5, 15}}},
    {"RECURRENT, a GRU backwards", sample_gru_back, .dim = {{1, 1, 7, 9}, {1, 1, 3, 9}}},
    {"RECURRENT, an LSTM", sample_lstm, .dim = {{1, 1, 7, 20}, {1, 1, 5, 20}}},
    {"RECURRENT, an LSTM backwards", sample_lstm_back, .dim = {{1, 1, 7, 12}, {1, 1, 3, 12}}},
    {"NEIGHBOURS", sample_neighbours, .dim = {{1, 1, 7, 5}}},
    {"DEPTHWISE_CONV", sample_depthwise, .dim = {{1, 1, 7, 5}, {1, 1, 4, 5}}},
    {"DEPTHWISE_CONV, around each row", sample_depthwise_around, .dim = {{1, 1, 7, 5}, {1, 1, 5, 5}}},
    {"LONG_CONV", sample_long_conv, .dim = {{1, 1, 7, 5}, {1, 1, 4, 5}}},
    {"LONG_CONV, backwards", sample_long_conv_back, .dim = {{1, 1, 7, 5}, {1, 1, 3, 5}}},
    {"ROTATE", sample_rotate, .dim = {{1, 1, 7, 14}}},
    {0},
};
