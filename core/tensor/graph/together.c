/* together.c - runs weight gradients of equal shape as one batch of products. It saves launches on a device and keeps
 * the inputs in memory for longer.
 *
 * A group has the LINEAR_DW nodes of one parameter in several layers ("enc.0.ffn.w1", "enc.1.ffn.w1"). All of them run
 * when the last one would, which is the first layer's. Until then their inputs are kept: the rows, which all layers
 * keep until the backward pass anyway, and the gradients of results. In a batch, addresses must have equal steps from
 * layer to layer. Gradients of parameters have them if layers are alike; the inputs get a slab of the arena, with a
 * place for each member. Members of a group without equal steps run one by one, each when its own turn comes.
 *
 * In decoding, a product that only a norm reads runs together with the norm. */
#include "tensor/graph/together.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding groups ---- */

/* True if the names differ in their numbers only: the same parameter of another layer. */
static bool alike(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            while (isdigit((unsigned char)*a)) a++;
            while (isdigit((unsigned char)*b)) b++;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

/* Is x's storage written again after node `from`, up to node `to`? */
static bool overwritten(const ab_ctx *c, int32_t x, int32_t from, int32_t to)
{
    int32_t storage = plan_storage(c, x);
    for (int32_t i = from + 1; i <= to; i++)
        if (c->v[i].live && c->v[i].op != OP_RESHAPE && plan_storage(c, i) == storage) return true;
    return false;
}

/* [n]: for each node, the parameter whose gradient it is. 0: it is no gradient, or another node reads its output. */
static int32_t *parameter_of_gradients(const ab_ctx *c)
{
    int32_t *of = xcalloc((size_t)c->n, sizeof *of);
    for (int32_t i = 1; i < c->forward_n; i++)
        if (c->v[i].op == OP_PARAM && c->grad[i]) of[tape_source(c, c->grad[i])] = i;
    for (int32_t i = 1; i < c->n; i++) {
        const node *v = &c->v[i];
        for (int k = 0; k < v->n_in && v->live && v->op != OP_PART && v->op != OP_RESHAPE; k++)
            of[tape_source(c, v->in[k])] = 0;
    }
    return of;
}

/* Could node b follow a in a group? */
static bool belongs(const ab_ctx *c, const int32_t *of, int32_t a, int32_t b)
{
    const node *u = &c->v[a], *v = &c->v[b];
    if (v->op != OP_LINEAR_DW || !v->live || v->type != F32 || !of[b]) return false;
    if (memcmp(&u->a.LINEAR, &v->a.LINEAR, sizeof u->a.LINEAR) || memcmp(u->dim, v->dim, sizeof u->dim)) return false;
    for (int k = 0; k < v->n_in; k++)
        if (memcmp(c->v[u->in[k]].dim, c->v[v->in[k]].dim, sizeof u->dim)) return false;
    if (node_count(u + 1) != node_count(v + 1) || (node_count(v + 1) && !of[b + 1])) return false;
    return alike(c->params->p[c->v[of[a]].param].name, c->params->p[c->v[of[b]].param].name);
}

/* ---- a product whose only reader is a norm that adds it as a residual ---- */

static bool is_read_once(const ab_ctx *c, int32_t x)
{
    int n = 0;
    for (int32_t i = x + 1; i < c->n; i++)
        for (int k = 0; k < c->v[i].n_in && c->v[i].live; k++) n += c->v[i].in[k] == x;
    return n == 1;
}

static bool reads_state(const ab_ctx *c, const node *v)
{
    bool any = false;
    for (int k = 0; k < v->n_in; k++) any |= c->v[tape_source(c, v->in[k])].op == OP_STATE;
    return any;
}

/* A step of decoding carries states, and has few rows. */
static bool is_step(const ab_ctx *c)
{
    bool any = false;
    for (int32_t i = 1; i < c->n; i++) any |= c->v[i].live && c->v[i].op == OP_STATE;
    return any && c->batch_invariant;
}

/* Keeps the product's inputs until the norm has run, so that its result does not overwrite them. */
static void join_norms(ab_ctx *c)
{
    if (!c->backend->joins_norms || !is_step(c)) return;
    for (int32_t i = 1; i < c->n; i++) {
        node *v = &c->v[i], *u = &c->v[v->op == OP_NORM ? v->i.NORM.s : 0];
        int32_t end = i + v->n_out - 1;
        if (!v->live || u->op != OP_LINEAR || u->phase != v->phase || u->last != end || reads_state(c, u) ||
            !is_read_once(c, v->i.NORM.s))
            continue;
        v->product = v->i.NORM.s, u->waits = true;
        for (int k = 0; k < u->n_in; k++)
            if (u->in[k] && c->v[u->in[k]].last < end) c->v[u->in[k]].last = end;
    }
}

void together_find(ab_ctx *c)
{
    join_norms(c);
    if (!c->backend->joins_gradients || !c->grad) return;
    int32_t *of = parameter_of_gradients(c);
    for (int32_t i = c->forward_n; i < c->n; i++) {
        joint_group t = {.n = 1, .member = {i}};
        if (c->v[i].joint || !belongs(c, of, i, i)) continue;
        for (int32_t j = i + 1; j < c->n && t.n < TOGETHER_MOST; j++)
            if (!c->v[j].joint && belongs(c, of, i, j)) t.member[t.n++] = j;
        bool safe = t.n > 1;
        int32_t last = t.member[t.n - 1];
        for (int k = 0; k < t.n && safe; k++)
            for (int in = 0; in < 2 && safe; in++) safe = !overwritten(c, c->v[t.member[k]].in[in], t.member[k], last);
        if (!safe) continue;
        c->joints = grow(c->joints, &c->joints_cap, c->n_joints + 1, sizeof *c->joints);
        c->joints[c->n_joints++] = t;
        for (int k = 0; k < t.n; k++) {
            node *v = &c->v[t.member[k]];
            v->joint = (int32_t)c->n_joints;
            for (int in = 0; in < 2; in++)
                if (c->v[v->in[in]].last <= last) c->v[v->in[in]].last = last + 1; /* LINEAR_DW and its PART */
        }
    }
    free(of);
}

/* ---- their places ---- */

static bool reserve(ab_ctx *c, const joint_group *t, int in)
{
    int32_t r[TOGETHER_MOST], last = 0;
    bool shared = true;
    for (int k = 0; k < t->n; k++) {
        r[k] = plan_root(c, c->v[t->member[k]].in[in]);
        shared = shared && r[k] == r[0];
        last = c->v[r[k]].last > last ? c->v[r[k]].last : last;
    }
    if (shared) return true;
    for (int k = 0; k < t->n; k++) {
        if (!plan_may_place(c, r[k]) || c->v[r[k]].slab || node_count(&c->v[r[k]]) != node_count(&c->v[r[0]]))
            return false;
        for (int j = 0; j < k; j++)
            if (r[j] == r[k]) return false;
    }
    c->slabs = grow(c->slabs, &c->slabs_cap, c->n_slabs + 1, sizeof *c->slabs);
    c->slabs[c->n_slabs++] = (slab){.n = t->n, .last = last};
    for (int k = 0; k < t->n; k++) /* the last member, which is of the first layer, lies first, as its parameter does */
        c->v[r[k]].slab = (int32_t)c->n_slabs, c->v[r[k]].place = t->n - 1 - k;
    return true;
}

static void dissolve(ab_ctx *c, joint_group *t)
{
    for (int k = 0; k < t->n; k++) c->v[t->member[k]].joint = 0;
    t->n = 0;
}

void together_reserve(ab_ctx *c)
{
    for (size_t g = 0; g < c->n_joints; g++) {
        joint_group *t = &c->joints[g];
        for (int in = 0; in < 2 && t->n; in++)
            if (!reserve(c, t, in)) dissolve(c, t);
    }
}

/* Sets *step to the bytes between members' values; false if uneven or < 0. which: an input, or 2: dw, 3: db. */
static bool even_steps(const ab_ctx *c, const joint_group *t, int which, int64_t *step)
{
    const char *at[TOGETHER_MOST];
    for (int k = 0; k < t->n; k++) {
        const node *v = &c->v[t->member[t->n - 1 - k]];
        at[k] = which < 2 ? c->v[v->in[which]].data : v[which - 2].data;
    }
    *step = at[1] - at[0];
    for (int k = 2; k < t->n; k++)
        if (at[k] - at[k - 1] != *step) return false;
    return *step >= 0;
}

void together_settle(ab_ctx *c)
{
    for (size_t g = 0; g < c->n_joints; g++) {
        joint_group *t = &c->joints[g];
        bool even = t->n > 0;
        for (int which = 0; which < 4 && even; which++)
            even = (which == 3 && !node_count(&c->v[t->member[0] + 1])) || even_steps(c, t, which, &t->stride[which]);
        if (!even) dissolve(c, t);
        for (int k = 0; k + 1 < t->n; k++) c->v[t->member[k]].waits = true;
    }
}
