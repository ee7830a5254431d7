/* grad.c - appends the gradient of a tape to the tape. */
#include "tensor/graph/grad.h"
#include <stdlib.h>
#include <string.h>

bool grad_wanted(const ab_ctx *c, int32_t x) { return x && x >= c->grad_from && c->v[x].needs; }

static void fit(ab_ctx *c)
{
    size_t had = c->grad_cap;
    c->grad = grow(c->grad, &c->grad_cap, (size_t)c->n + 1, sizeof *c->grad);
    memset(c->grad + had, 0, (c->grad_cap - had) * sizeof *c->grad);
}

void grad_replace(ab_ctx *c, int32_t x, ab_t dx)
{
    fit(c);
    c->grad[x] = dx.id;
}

void grad_add(ab_ctx *c, int32_t x, ab_t dx)
{
    if (!grad_wanted(c, x) || !dx.id) return;
    fit(c);
    dx = t_cast(c, t_sum_to(c, dx, dims_of(c, x).dim), c->v[x].type);
    if (c->grad[x]) dx = t_binary(c, OP_ADD, (ab_t){c->grad[x]}, dx);
    grad_replace(c, x, dx);
}

/* Does x share its gradient with another value, as the terms of a sum do? Then adding in place would change both. */
static bool shared(const ab_ctx *c, int32_t x)
{
    int32_t g = tape_source(c, c->grad[x]);
    int holders = 0;
    for (int32_t i = 1; i < c->n; i++)
        if ((size_t)i < c->grad_cap && c->grad[i] && tape_source(c, c->grad[i]) == g) holders++;
    return holders > 1;
}

bool grad_alone(const ab_ctx *c, int32_t x, ab_t dy)
{
    if (c->grad[x] != dy.id || shared(c, x)) return false;
    for (int32_t i = dy.id + 1; i < c->n; i++)
        for (int k = 0; k < c->v[i].n_in; k++)
            if (c->v[i].in[k] == dy.id && !is_printed(c, i)) return false; /* copies for ab_print do not count */
    return true;
}

ab_t grad_base(const ab_ctx *c, int32_t x)
{
    if ((size_t)x >= c->grad_cap || !c->grad[x]) return (ab_t){0};
    op o = c->v[tape_source(c, c->grad[x])].op;
    if (o == OP_CONST || o == OP_INPUT || o == OP_PARAM || o == OP_STATE || shared(c, x)) return (ab_t){0};
    return (ab_t){c->grad[x]};
}

static grad_rule rule_of(op o)
{
    grad_rule rule = generic_rules[o];
    if (!rule) rule = shape_rules[o];
    if (!rule) rule = rows_rules[o];
    if (!rule) rule = sentence_rules[o];
    return rule ? rule : delta_rules[o];
}

void grad_sweep(ab_ctx *c, int32_t from, int32_t to)
{
    const char *scope = c->scope;
    for (int32_t i = to - 1; i >= from && !c->error.text[0]; i--) {
        node y = c->v[i];
        fit(c);
        if (c->forward_n) print_gradient(c, i); /* not in t_gradient */
        if (y.op == OP_PARAM || y.op == OP_INPUT || y.op == OP_PART || !y.needs) continue;
        ab_t dy = {c->grad[i]};
        if (!dy.id) continue;
        grad_rule rule = rule_of(y.op);
        if (!rule) {
            tape_fail(c, "%s has no gradient", op_names[y.op]);
            return;
        }
        c->scope = y.scope; /* a gradient has the scope of its value */
        rule(c, (ab_t){i}, dy);
        c->scope = scope;
        c->grad[i] = 0; /* the node's gradient has been used */
    }
}

/* Does node i pass a gradient on to one of its inputs? */
static bool passes(const ab_ctx *c, int32_t i)
{
    const node *v = &c->v[i];
    bool any = false;
    for (int k = 0; k < v->n_in && !v->cut && v->op != OP_PART; k++) any |= grad_wanted(c, v->in[k]);
    return any;
}

ab_t t_gradient(ab_ctx *c, ab_t y, ab_t x)
{
    GIVEN2(y, x);
    int32_t n = c->n, *grad = c->grad;
    size_t grad_cap = c->grad_cap;
    bool *needs = xmalloc((size_t)(n - x.id) * sizeof *needs); /* as they were, from x on */
    c->grad_from = x.id;
    for (int32_t i = x.id; i < n; i++) {
        needs[i - x.id] = c->v[i].needs;
        c->v[i].needs = i == x.id || passes(c, i);
    }
    ab_t dx = grad_wanted(c, y.id) ? x : tape_fail(c, "ab_gradient: the first value does not depend on the second");
    if (dx.id) {
        c->grad = NULL, c->grad_cap = 0;
        fit(c);
        c->grad[y.id] = t_broadcast_to(c, t_const(c, (int64_t[4]){1, 1, 1, 1}, (double[]){1}), tape_at(c, y)->dim).id;
        grad_sweep(c, x.id + 1, y.id + 1);
        dx.id = c->grad[x.id];
        free(c->grad);
        c->grad = grad, c->grad_cap = grad_cap;
    }
    c->grad_from = 0;
    for (int32_t i = x.id; i < n; i++) c->v[i].needs = needs[i - x.id];
    free(needs);
    for (int32_t i = n; i < c->n; i++) {
        c->v[i].needs = passes(c, i);
        if (c->v[i].needs && !rule_of(c->v[i].op))
            return tape_fail(c, "ab_gradient: %s has no gradient of its own", op_names[c->v[i].op]);
    }
    return dx;
}

/* The factor of a recorded loss: [1,1,1,1]. */
static ab_t recorded_loss_weight(ab_ctx *c, const noted *r)
{
    if (c->loss_scale.id) return t_mul_scalar(c, c->loss_scale, r->weight);
    return t_const(c, (int64_t[4]){1, 1, 1, 1}, &r->weight);
}

/* Copies each buffer's next value (its present value if nothing sets it), so that nothing shares its storage. */
static void keep_buffers(ab_ctx *c)
{
    for (int32_t i = 1; i < c->forward_n; i++) {
        if (c->v[i].op != OP_PARAM || !c->params->p[c->v[i].param].buffer) continue;
        ab_t value = {i};
        for (const buffer_value *n = c->sets; n; n = n->next)
            if (n->param == c->v[i].param) value = n->value;
        ab_t copy = tape_push(c, OP_CAST, c->v[i].type, c->v[i].dim, 1, &value, NULL);
        tape_at(c, copy)->live = true;
        grad_replace(c, i, copy);
    }
}

int tape_backward(ab_ctx *c, ab_t root)
{
    if (c->error.text[0]) return -1;
    if (!root.id) return fail(&c->error, "no value to differentiate");
    c->forward_n = c->n;
    fit(c);
    bool is_ce = tape_at(c, root)->op == OP_CE;
    if (!is_ce && node_count(tape_at(c, root)) != 1) {
        char shape[64];
        return fail(&c->error, "the value to differentiate has shape %s, not one element",
                    shape_text(tape_at(c, root)->dim, shape));
    }
    c->grad[root.id] = t_const(c, (int64_t[4]){1, 1, 1, 1}, (double[]){1}).id;
    for (const noted *r = c->recorded; r; r = r->next)
        if (r->weight) grad_add(c, r->value.id, recorded_loss_weight(c, r));
    grad_sweep(c, 1, c->forward_n);
    keep_buffers(c);
    for (int32_t i = 1; i < c->forward_n; i++) {
        if (c->v[i].op != OP_PARAM && c->v[i].op != OP_INPUT) continue;
        if (c->grad[i]) c->v[c->grad[i]].live = true;
    }
    return c->error.text[0] ? -1 : 0;
}
