/* ops_rows.c - operations on packed rows of tokens: products, embedding, normalisation, loss, plugins' own. */
#include "tensor/graph/grad.h"
#include "tensor/graph/padding.h"
#include "tensor/graph/tape.h"
#include <string.h>

/* ---- products with a parameter ---- */

static ab_t flat(ab_ctx *c, ab_t x) /* [a,b,R,n] as rows [a b R, n] */
{
    int64_t *d = tape_at(c, x)->dim;
    if (d[0] == 1 && d[1] == 1) return x;
    return t_reshape(c, x, (int64_t[4]){1, 1, d[0] * d[1] * d[2], d[3]});
}

ab_t t_linear(ab_ctx *c, ab_t x, ab_t w, ab_t b, int transposed, int relu)
{
    return t_linear_padded(c, x, w, b, transposed, relu, 0);
}
ab_t t_linear_padded(ab_ctx *c, ab_t x, ab_t w, ab_t b, int transposed, int relu, int64_t padding)
{
    GIVEN2(x, w);
    if (padding && (b.id || relu)) return tape_fail(c, "linear: padded rows support neither bias nor ReLU");
    if (!tape_at(c, x)->exact) x = t_cast(c, x, c->compute);
    dtype type = tape_at(c, x)->type;
    int64_t full[4], k, n;
    char sx[64], sw[64];
    memcpy(full, tape_at(c, x)->dim, sizeof full);
    k = tape_at(c, w)->dim[transposed ? 3 : 2];
    n = tape_at(c, w)->dim[transposed ? 2 : 3];
    if (full[3] != k)
        return tape_fail(c, "linear: rows %s do not fit weights %s", shape_text(full, sx),
                         shape_text(tape_at(c, w)->dim, sw));
    x = flat(c, x);
    int64_t d[4] = {1, 1, tape_at(c, x)->dim[2], n + padding};
    ab_t y = tape_push(c, OP_LINEAR, type, d, 3, (ab_t[]){x, w, b},
                       &(attr){.LINEAR = {.transposed = transposed, .relu = relu, .padding = padding}});
    full[3] = n + padding;
    return full[0] == 1 && full[1] == 1 ? y : t_reshape(c, y, full);
}
/* The gradient below a ReLU: if nothing else reads dy, the product that computes it applies the ReLU's mask itself. */
static ab_t relu_gradient(ab_ctx *c, ab_t y, ab_t dy)
{
    node *g = tape_at(c, dy);
    if (g->op != OP_LINEAR_DX || !grad_alone(c, y.id, dy))
        return push2(c, OP_RELU_BACK, y, dy, tape_at(c, y)->dim, NULL);
    g->i.LINEAR_DX.y = y.id;
    return dy;
}
/* Returns dy's sums over rows if a norm's gradient computes dy (the norm then computes the sums, too), else id 0. */
static ab_t sums_by_norm(ab_ctx *c, ab_t dy)
{
    const node *v = tape_at(c, dy);
    int64_t which = v->op == OP_PART ? v->a.PART.output : 0, width = v->dim[3];
    ab_t norm = {v->op == OP_PART ? v->i.PART.of : dy.id};
    if (tape_at(c, norm)->op != OP_NORM_BACK || which > OUTPUT(NORM_BACK, ds)) return (ab_t){0};
    bool own_mask = node_count(tape_at(c, tape_part(c, norm, OUTPUT(NORM_BACK, ds)))) > 0;
    if (own_mask != (which == OUTPUT(NORM_BACK, ds))) return (ab_t){0};
    shape_part(c, norm, OUTPUT(NORM_BACK, sums), sum_type(c), (int64_t[4]){1, 1, 1, width});
    return tape_part(c, norm, OUTPUT(NORM_BACK, sums));
}
static void linear_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t x = {v.i.LINEAR.x}, w = {v.i.LINEAR.w};
    if (v.a.LINEAR.relu) dy = relu_gradient(c, y, dy);
    ab_t sums = grad_wanted(c, v.i.LINEAR.b) ? sums_by_norm(c, dy) : (ab_t){0};
    bool summed = !grad_wanted(c, v.i.LINEAR.b) || sums.id;
    if (!summed && !grad_wanted(c, w.id)) {
        sums = push1(c, OP_COLUMN_SUM, dy, (int64_t[4]){1, 1, 1, v.dim[3]}, NULL);
        tape_at(c, sums)->type = sum_type(c);
    }
    if (grad_wanted(c, w.id)) {
        ab_t dw = push2(c, OP_LINEAR_DW, x, dy, tape_at(c, w)->dim,
                        &(attr){.LINEAR = {.transposed = v.a.LINEAR.transposed, .padding = v.a.LINEAR.padding}});
        tape_at(c, dw)->type = sum_type(c);
        if (summed) {
            drop_part(c, dw, OUTPUT(LINEAR_DW, db));
        } else {
            shape_part(c, dw, OUTPUT(LINEAR_DW, db), sum_type(c), (int64_t[4]){1, 1, 1, v.dim[3]});
            sums = tape_part(c, dw, OUTPUT(LINEAR_DW, db));
        }
        grad_add(c, w.id, dw);
    }
    grad_add(c, v.i.LINEAR.b, sums);
    if (!grad_wanted(c, x.id)) return;
    ab_t base = grad_base(c, x.id);
    /* y is id 0: relu_gradient sets it */
    ab_t dx = tape_push(c, OP_LINEAR_DX, v.type, tape_at(c, x)->dim, 4, (ab_t[]){dy, w, base, {0}},
                        &(attr){.LINEAR = {.transposed = v.a.LINEAR.transposed, .padding = v.a.LINEAR.padding}});
    (base.id ? grad_replace : grad_add)(c, x.id, dx);
}

/* ---- embedding ---- */

ab_t t_embed_tokens(ab_ctx *c, ab_t table, ab_t ids, ab_t sorted, double scale)
{
    GIVEN2(table, ids);
    int64_t d[4] = {1, 1, node_count(tape_at(c, ids)), tape_at(c, table)->dim[3]};
    return tape_push(c, OP_EMBED_TOKENS, c->compute, d, 5, (ab_t[]){table, ids, sorted, {0}, {0}},
                     &(attr){.EMBED_TOKENS = {.scale = scale}});
}

/* Collects the inputs of an EMBED_TOKENS that adds positions to its rows; false if x is no such operation. */
static bool embedding_below(const ab_ctx *c, ab_t x, ab_t in[5], attr *a)
{
    const node *sum = tape_at((ab_ctx *)c, x), *tokens = sum, *positions = NULL;
    if (sum->op == OP_ADD) {
        tokens = &c->v[sum->i.ADD.a], positions = &c->v[sum->i.ADD.b];
        if (tokens->op == OP_CAST) tokens = &c->v[tokens->i.CAST.x];
        if (positions->op != OP_EMBEDDING || node_count(positions) != node_count(sum)) return false;
    }
    if (tokens->op != OP_EMBED_TOKENS || tokens->i.EMBED_TOKENS.positions || node_count(tokens) != node_count(sum))
        return false;
    for (int k = 0; k < tokens->n_in; k++) in[k] = (ab_t){tokens->in[k]};
    if (positions) {
        in[INPUT(EMBED_TOKENS, positions)] = (ab_t){positions->i.EMBEDDING.table};
        in[INPUT(EMBED_TOKENS, position_ids)] = (ab_t){positions->i.EMBEDDING.ids};
    }
    *a = tokens->a;
    return !positions || c->v[positions->i.EMBEDDING.table].type == F32;
}
ab_t t_embedded(ab_ctx *c, ab_t x, double p)
{
    GIVEN1(x);
    ab_t in[5];
    attr a;
    const backend *b = c->backend;
    if (!b || !b->embeds_tokens || !embedding_below(c, x, in, &a)) return t_cast(c, t_dropout(c, x, p), c->compute);
    a.EMBED_TOKENS.p = c->training ? p : 0;
    if (a.EMBED_TOKENS.p > 0) a.EMBED_TOKENS.place = c->n_dropout++;
    return tape_push(c, OP_EMBED_TOKENS, c->compute, tape_at(c, x)->dim, 5, in, &a);
}
static void embed_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t table = {v.i.EMBED_TOKENS.table}, positions = {v.i.EMBED_TOKENS.positions};
    if (v.a.EMBED_TOKENS.p > 0)
        dy = push1(c, OP_DROPOUT, dy, v.dim,
                   &(attr){.DROPOUT = {.p = v.a.EMBED_TOKENS.p, .place = v.a.EMBED_TOKENS.place}});
    if (grad_wanted(c, positions.id))
        grad_add(c, positions.id,
                 push2(c, OP_EMBEDDING_BACK, number(c, dy), (ab_t){v.i.EMBED_TOKENS.position_ids},
                       dims_of(c, positions.id).dim, NULL));
    ab_t base = grad_base(c, table.id);
    if (!grad_wanted(c, table.id)) return;
    ab_t g = tape_push(c, OP_EMBED_TOKENS_BACK, sum_type(c), tape_at(c, table)->dim, 4,
                       (ab_t[]){base, dy, {v.i.EMBED_TOKENS.ids}, {v.i.EMBED_TOKENS.sorted}},
                       &(attr){.EMBED_TOKENS = {.scale = v.a.EMBED_TOKENS.scale}});
    (base.id ? grad_replace : grad_add)(c, table.id, g);
}

/* ---- residual, dropout, layer norm ---- */

ab_t t_norm(ab_ctx *c, ab_t x, ab_t s, ab_t gain, ab_t bias, double p, double eps)
{
    GIVEN2(x, gain);
    GIVEN1(bias);
    char sx[64], ss[64];
    x = t_cast(c, x, c->compute), s = t_cast(c, s, c->compute);
    dims d = dims_of(c, x.id);
    if (s.id && memcmp(tape_at(c, s)->dim, d.dim, sizeof d))
        return tape_fail(c, "norm: a sublayer returned %s, expected the shape of its rows, %s",
                         shape_text(tape_at(c, s)->dim, ss), shape_text(d.dim, sx));
    if (!c->training) p = 0;
    attr a = {.NORM = {.p = p, .eps = eps, .place = s.id && p > 0 ? c->n_dropout++ : 0}};
    ab_t y = tape_push(c, OP_NORM, c->compute, d.dim, 4, (ab_t[]){x, s, gain, bias}, &a);
    if (!s.id) drop_part(c, y, OUTPUT(NORM, z));
    shape_part(c, y, OUTPUT(NORM, stats), sum_type(c), (int64_t[4]){1, 1, d.dim[2], 2});
    return y;
}
static void norm_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    bool has_s = v.i.NORM.s != 0, own_mask = has_s && v.a.NORM.p > 0;
    ab_t z = has_s ? tape_part(c, y, OUTPUT(NORM, z)) : (ab_t){v.i.NORM.x};
    attr a = v.a;
    a.NORM.has_sublayer = has_s;
    ab_t in[4] = {z, tape_part(c, y, OUTPUT(NORM, stats)), {v.i.NORM.gain}, dy};
    ab_t g = tape_push(c, OP_NORM_BACK, v.type, v.dim, 4, in, &a);
    if (!own_mask) drop_part(c, g, OUTPUT(NORM_BACK, ds));
    shape_part(c, g, OUTPUT(NORM_BACK, d_gain), sum_type(c), (int64_t[4]){1, 1, 1, v.dim[3]});
    shape_part(c, g, OUTPUT(NORM_BACK, d_bias), sum_type(c), (int64_t[4]){1, 1, 1, v.dim[3]});
    drop_part(c, g, OUTPUT(NORM_BACK, sums)); /* unused unless sums_by_norm asks for it */
    grad_add(c, v.i.NORM.x, g);
    if (has_s) grad_add(c, v.i.NORM.s, own_mask ? tape_part(c, g, OUTPUT(NORM_BACK, ds)) : g);
    grad_add(c, v.i.NORM.gain, tape_part(c, g, OUTPUT(NORM_BACK, d_gain)));
    grad_add(c, v.i.NORM.bias, tape_part(c, g, OUTPUT(NORM_BACK, d_bias)));
}

ab_t t_dropout_add(ab_ctx *c, ab_t x, ab_t s, double p)
{
    GIVEN2(x, s);
    if (!c->training) p = 0;
    x = t_cast(c, x, c->compute), s = t_cast(c, s, c->compute);
    const int64_t *d = tape_at(c, x)->dim;
    char sx[64], ss[64];
    if (memcmp(tape_at(c, s)->dim, d, 4 * sizeof *d))
        return tape_fail(c, "ab_add_dropout: %s and %s, expected equal shapes", shape_text(d, sx),
                         shape_text(tape_at(c, s)->dim, ss));
    return push2(c, OP_DROPOUT_ADD, x, s, d, &(attr){.DROPOUT = {.p = p, .place = p > 0 ? c->n_dropout++ : 0}});
}
static void dropadd_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t ds = v.a.DROPOUT.p > 0 ? push1(c, OP_DROPOUT, dy, v.dim, &v.a) : dy;
    grad_add(c, v.i.DROPOUT_ADD.x, dy);
    grad_add(c, v.i.DROPOUT_ADD.s, ds);
}

/* ---- loss ---- */

ab_t t_ce(ab_ctx *c, ab_t logits, ab_t targets, ab_t norm, double smoothing, int others)
{
    const node *from = tape_at(c, logits);
    int64_t padding = from && from->op == OP_LINEAR ? from->a.LINEAR.padding : 0;
    GIVEN2(logits, targets);
    GIVEN1(norm);
    int64_t rows = tape_at(c, logits)->dim[2];
    bool grad = c->training && tape_at(c, logits)->needs;
    attr a = {.CE = {.smoothing = smoothing, .others = others, .gradient = grad, .padding = padding}};
    ab_t y = tape_push(c, OP_CE, sum_type(c), (int64_t[4]){1, 1, rows, 2}, 3, (ab_t[]){logits, targets, norm}, &a);
    if (grad)
        shape_part(c, y, OUTPUT(CE, d_logits), tape_at(c, logits)->type, tape_at(c, logits)->dim);
    else
        drop_part(c, y, OUTPUT(CE, d_logits));
    return y;
}
static void ce_rule(ab_ctx *c, ab_t y, ab_t dy) /* the kernel has the gradient ready, weighted by norm */
{
    (void)dy;
    node v = *tape_at(c, y);
    if (!v.a.CE.gradient) {
        tape_fail(c, "the loss was traced without its gradient (not training)");
        return;
    }
    grad_add(c, v.i.CE.logits, tape_part(c, y, OUTPUT(CE, d_logits)));
}

/* ---- plugins' own operations, assignments ---- */

static ab_t make_call(ab_ctx *c, const ab_op *o, const ab_t *in, const void *a)
{
    if (!o || !o->name || !o->reference) return tape_fail(c, "ab_call: an operation needs a name and a reference");
    if (o->n_in < 1 || o->n_in > 4)
        return tape_fail(c, "ab_call: '%s' has %d inputs, expected 1 to 4", o->name, o->n_in);
    for (int k = 0; k < o->n_in; k++) GIVEN1(in[k]);
    if (!(on_device(c->backend) ? o->cuda : o->cpu)) return tape_given(c, o->reference(c, in, a), "operation", o->name);
    int32_t before = c->n;
    int64_t places = c->n_dropout;
    /* the reference has no attention context, wherever it runs */
    attn_context *around = c->attn;
    ab_hook hook = c->hook;
    c->attn = NULL, c->hook = AB_IN_REFERENCE;
    ab_t composed = tape_given(c, o->reference(c, in, a), "operation", o->name); /* shape and type come from it */
    c->attn = around, c->hook = hook;
    GIVEN1(composed);
    node m = *tape_at(c, composed);
    c->n = before;
    c->n_dropout = places;
    ab_t y = tape_push(c, OP_CALL, m.type, m.dim, o->n_in, in, NULL);
    tape_at(c, y)->call = o;
    return y;
}

ab_t t_call(ab_ctx *c, const ab_op *o, const ab_t *in, const void *a, size_t a_size)
{
    bool inside =
        c->hook == AB_IN_REFERENCE || c->hook == AB_IN_GRAD; /* called by another operation's reference or gradient */
    ab_t y = make_call(c, o, in, a);
    GIVEN1(y);
    op_use *k = arena_alloc(&c->memory, sizeof *k);
    *k = (op_use){.op = o, .y = y, .attr_size = a_size};
    memcpy(k->in, in, (size_t)o->n_in * sizeof *in);
    if (a_size) k->attr = memcpy(arena_alloc(&c->memory, a_size), a, a_size);
    if (tape_at(c, y)->op == OP_CALL) tape_at(c, y)->call_attr = k->attr;
    if (inside) return y;
    if (c->last_call)
        c->last_call->next = k;
    else
        c->calls = k;
    c->last_call = k;
    return y;
}
static void call_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t in[4] = {{0}}, din[4] = {{0}};
    for (int k = 0; k < v.n_in; k++) in[k] = (ab_t){v.in[k]};
    if (v.call->grad) {
        c->hook = AB_IN_GRAD;
        v.call->grad(c, in, y, dy, din, v.call_attr);
        c->hook = AB_IN_HOST;
        for (int k = 0; k < v.n_in; k++)
            if (tape_owns(c, din[k])) grad_add(c, in[k].id, din[k]);
        return;
    }
    int32_t first = c->n; /* emit the reference and differentiate it */
    c->hook = AB_IN_REFERENCE;
    ab_t composed = tape_given(c, v.call->reference(c, in, v.call_attr), "operation", v.call->name);
    c->hook = AB_IN_HOST;
    if (!composed.id) return;
    if (composed.id < first) { /* the result is an input, which also has gradients from other nodes */
        grad_add(c, composed.id, dy);
        return;
    }
    int32_t end = c->n;
    grad_replace(c, composed.id, dy);
    grad_sweep(c, first, end);
}

void t_assign(ab_ctx *c, ab_t to, ab_t value)
{
    if (!to.id || !value.id) return;
    char st[64], sv[64];
    if (memcmp(tape_at(c, to)->dim, tape_at(c, value)->dim, 4 * sizeof(int64_t))) {
        tape_fail(c, "ab_assign: %s takes a value of shape %s", shape_text(tape_at(c, to)->dim, st),
                  shape_text(tape_at(c, value)->dim, sv));
        return;
    }
    op source = c->v[tape_source(c, value.id)].op;
    if (source == OP_INPUT || source == OP_STATE) /* another assignment may change the value: copies it first */
        value = push1(c, OP_CAST, value, tape_at(c, to)->dim, NULL);
    ab_t y = push2(c, OP_ASSIGN, to, value, tape_at(c, to)->dim, NULL);
    tape_at(c, y)->live = true;
}

const grad_rule rows_rules[OP_COUNT] = {
    [OP_LINEAR] = linear_rule, [OP_EMBED_TOKENS] = embed_rule, [OP_NORM] = norm_rule, [OP_DROPOUT_ADD] = dropadd_rule,
    [OP_CE] = ce_rule,         [OP_CALL] = call_rule,
};

/* ---- samples ---- */

#define NO_VALUE ((ab_t){0})
SAMPLE(linear, t_linear(c, in[0], in[1], in[2], 0, 0))
SAMPLE(linear_relu, t_linear(c, in[0], in[1], in[2], 0, 1))
SAMPLE(linear_bias, t_linear(c, in[0], t_const(c, (int64_t[4]){1, 1, 3, 1}, (double[]){2, -1, 3}), in[1], 0, 1))
SAMPLE(linear_transposed, t_linear(c, in[0], in[1], NO_VALUE, 1, 0))
SAMPLE(embed_tokens, t_embed_tokens(c, in[0], SAMPLE_IDS(2, -1, 0, 2), NO_VALUE, 1.5))
SAMPLE(norm, t_norm(c, in[0], NO_VALUE, in[1], in[2], 0, 1e-5))
SAMPLE(norm_of_sum, t_norm(c, in[0], in[1], in[2], in[3], 0.3, 1e-5))
SAMPLE(dropout_add, t_dropout_add(c, in[0], in[1], 0.3))
static ab_t sample_ce(ab_ctx *c, const ab_t *in)
{
    ab_t one = t_const(c, (int64_t[4]){1, 1, 1, 1}, (double[]){1});
    return t_ce(c, t_mul_scalar(c, in[0], 2), SAMPLE_IDS(1, -1, 4, 0), one, 0.1, 0);
}

const op_sample rows_samples[] = {
    {"LINEAR", sample_linear, .dim = {{1, 1, 5, 3}, {1, 1, 3, 4}, {1, 1, 1, 4}}},
    {"LINEAR with ReLU", sample_linear_relu, .dim = {{1, 1, 5, 3}, {1, 1, 3, 4}, {1, 1, 1, 4}}},
    {"LINEAR, a bias alone is learned", sample_linear_bias, .dim = {{1, 1, 5, 3}, {1, 1, 1, 1}}},
    {"LINEAR, W given transposed", sample_linear_transposed, .dim = {{1, 1, 5, 3}, {1, 1, 4, 3}}},
    {"LINEAR of four axes", sample_linear, .dim = {{2, 2, 3, 4}, {1, 1, 4, 2}, {1, 1, 1, 2}}},
    {"EMBED_TOKENS", sample_embed_tokens, .dim = {{1, 1, 3, 4}}},
    {"NORM", sample_norm, .dim = {{1, 1, 4, 6}, {1, 1, 1, 6}, {1, 1, 1, 6}}},
    {"NORM of a sum", sample_norm_of_sum, .dim = {{1, 1, 4, 6}, {1, 1, 4, 6}, {1, 1, 1, 6}, {1, 1, 1, 6}}},
    {"NORM under dropout", sample_norm_of_sum, .dim = {{1, 1, 4, 6}, {1, 1, 4, 6}, {1, 1, 1, 6}, {1, 1, 1, 6}},
     .training = true},
    {"DROPOUT_ADD", sample_dropout_add, .dim = {{1, 1, 4, 6}, {1, 1, 4, 6}}, .training = true},
    {"DROPOUT_ADD, not training", sample_dropout_add, .dim = {{1, 1, 4, 6}, {1, 1, 4, 6}}},
    {"CE", sample_ce, .dim = {{1, 1, 4, 5}}, .training = true},
    {0},
};
