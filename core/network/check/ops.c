/* ops.c - a plugin's own operations, on their inputs in a model: kernel against reference, grad against finite
 * differences of the reference. */
#include "network/check/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct { /* one use of an operation, found on a model's tape, which stays open for its attr */
    const ab_op *op;
    const void *attr;
    int64_t dim[4][4];
    dtype type[4];
    void *data[4]; /* F64 or I32 */
    arena memory;
    model m;
    pass p;
} sample;

static bool is_ids(const sample *s, int k) { return s->type[k] == I32; }
static size_t count(const int64_t d[4]) { return (size_t)(d[0] * d[1] * d[2] * d[3]); }

/* ---- finding a use ---- */

static int32_t find_call(const ab_ctx *c, const ab_op *op)
{
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].op == OP_CALL && c->v[i].call == op) return i;
    return 0;
}

/* Its inputs must still be there when the tape has run. */
static void keep_inputs(ab_ctx *c, int32_t at)
{
    for (int k = 0; k < c->v[at].n_in; k++) {
        node *v = &c->v[c->v[at].in[k]];
        if (!v->name && v->op != OP_PARAM && v->op != OP_CONST)
            t_keep(c, (ab_t){c->v[at].in[k]}, "input of an operation");
    }
}

static void copy_inputs(const ab_ctx *c, int32_t at, sample *s)
{
    const node *call = &c->v[at];
    for (int k = 0; k < call->n_in; k++) {
        const node *v = &c->v[call->in[k]];
        memcpy(s->dim[k], v->dim, sizeof v->dim);
        s->type[k] = v->type;
        size_t bytes = (size_t)node_count(v) * dtype_size(v->type);
        s->data[k] = arena_alloc(&s->memory, bytes);
        memcpy(s->data[k], v->data, bytes);
    }
}

static void sample_close(sample *s)
{
    pass_close(&s->p);
    model_free(&s->m);
    arena_free(&s->memory);
}

static int run_keeping(sample *s, int32_t *at, err *e)
{
    sentences text;
    check_sentences(&text);
    if (pass_trace(&s->p, &s->m, &text, false, 2, 0, e)) return -1;
    if (!(*at = find_call(s->p.c, s->op))) return 0;
    keep_inputs(s->p.c, *at);
    return pass_plan(&s->p, e) ? -1 : pass_run(&s->p, 1, e);
}

static bool sample_from(const pairing *w, const ab_op *op, sample *s, check_result *r)
{
    err e = {0};
    int32_t at = 0;
    *s = (sample){.op = op};
    if (check_model_open(&s->m, w, &(model_kind){.compute = F64}, &e)) {
        check_fail(r, "%s", e.text);
        return false;
    }
    if (run_keeping(s, &at, &e)) check_fail(r, "%s: %s", w->words, e.text);
    if (at && r->outcome != CHECK_FAIL) {
        copy_inputs(s->p.c, at, s);
        s->attr = s->p.c->v[at].call_attr;
        return true;
    }
    sample_close(s);
    return false;
}

/* The first model in which the operation is used. */
static bool find_sample(const plugin *p, const ab_op *op, sample *s, check_result *r)
{
    const pairing *w;
    size_t n = check_pairings(p, &w, r);
    for (size_t i = 0; i < n && r->outcome != CHECK_FAIL; i++)
        if (sample_from(&w[i], op, s, r)) return true;
    return false;
}

/* ---- running it ---- */

static void *as_type(const void *from, size_t n, dtype type)
{
    void *to = xmalloc(n * dtype_size(type) + 64);
    for (size_t i = 0; i < n; i++) {
        if (type == F64) ((double *)to)[i] = ((const double *)from)[i];
        if (type == F32) ((float *)to)[i] = (float)((const double *)from)[i];
        if (type == I32) ((int32_t *)to)[i] = ((const int32_t *)from)[i];
    }
    return to;
}

typedef struct {
    params none;
    ab_ctx *c;
    ab_t in[4], y;
} op_tape;

static bool has_params(const ab_ctx *c)
{
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].op == OP_PARAM) return true;
    return false;
}

/* A tape of the operation alone: its reference, or (call) the operation with its kernel. */
static int trace_op(op_tape *t, const sample *s, dtype type, bool call, err *e)
{
    t->none = (params){0};
    t->c = tape_new(&t->none, &cpu_backend, type, true);
    for (int k = 0; k < s->op->n_in; k++) {
        const int64_t *d = s->dim[k];
        t->in[k] = t_input(t->c, arena_printf(&t->c->memory, "in%d", k), is_ids(s, k) ? I32 : type, PHASE_STEP, d[0],
                           d[1], d[2], d[3]);
        tape_at(t->c, t->in[k])->needs = !is_ids(s, k);
    }
    t->y = call ? t_call(t->c, s->op, t->in, s->attr, 0) : s->op->reference(t->c, t->in, s->attr);
    if (call && t->y.id && tape_at(t->c, t->y)->op == OP_CALL) tape_at(t->c, t->y)->call_attr = s->attr;
    if (t->c->error.text[0]) return fail(e, "%s", t->c->error.text);
    if (has_params(t->c)) return fail(e, "its reference creates parameters; pass them as inputs instead");
    return 0;
}

static int run_op(op_tape *t, const sample *s, err *e)
{
    for (int k = 0; k < s->op->n_in; k++) {
        node *v = tape_at(t->c, t->in[k]);
        if (!v->data) continue;
        void *x = as_type(s->data[k], count(s->dim[k]), v->type);
        memcpy(v->data, x, count(s->dim[k]) * dtype_size(v->type));
        free(x);
    }
    return tape_run(t->c, &(run_options){.from = PHASE_CONST}) ? fail(e, "%s", t->c->error.text) : 0;
}

static void close_op(op_tape *t)
{
    tape_free(t->c);
    params_free(&t->none);
}

/* ---- kernel against reference ---- */

static bool run_kernel(const sample *s, const node *y, dtype type, void *out)
{
    ab_view in[4];
    for (int k = 0; k < s->op->n_in; k++) {
        in[k] = (ab_view){.dtype = is_ids(s, k) ? I32 : (int32_t)type};
        memcpy(in[k].dim, s->dim[k], sizeof in[k].dim);
        in[k].data = as_type(s->data[k], count(s->dim[k]), (dtype)in[k].dtype);
    }
    ab_run r = {.in = in, .n_in = s->op->n_in, .out = {.data = out, .dtype = (int32_t)type}, .attr = s->attr};
    memcpy(r.out.dim, y->dim, sizeof y->dim);
    bool done = !s->op->cpu(&r);
    for (int k = 0; k < s->op->n_in; k++) free(in[k].data);
    return done;
}

static bool compare_kernel(const sample *s, dtype type, double allowed, check_result *r)
{
    op_tape t;
    err e = {0};
    bool done = false;
    int bad = trace_op(&t, s, type, false, &e);
    if (!bad) {
        t_keep(t.c, t.y, "y");
        bad = tape_plan(t.c, NULL, NULL) ? fail(&e, "%s", t.c->error.text) : run_op(&t, s, &e);
    }
    if (!bad) {
        const node *y = tape_at(t.c, t.y);
        size_t n = (size_t)node_count(y);
        void *out = xcalloc(n + 8, sizeof(double));
        done = run_kernel(s, y, type, out);
        double worst = 0, size = 1e-30;
        for (size_t i = 0; i < n; i++) {
            double a = check_number(out, type, i), b = check_number(y->data, type, i);
            worst = fabs(a - b) <= worst ? worst : fabs(a - b);
            size = fmax(size, fabs(b));
        }
        if (done && check_beyond(r, worst / size / allowed))
            check_fail(r,
                       "operation '%s': its CPU kernel in %s differs from its reference by %.2g (relative), "
                       "allowed %.0e",
                       s->op->name, dtype_name(type), worst / size, allowed);
        free(out);
    }
    if (bad) check_fail(r, "operation '%s': %s", s->op->name, e.text);
    close_op(&t);
    return done;
}

void check_kernels(const plugin *p, check_result *r)
{
    size_t compared = 0;
    for (const ab_op *const *op = p->desc.ops; op && *op && r->outcome != CHECK_FAIL; op++) {
        sample s;
        if (!(*op)->cpu || !find_sample(p, *op, &s, r)) continue;
        compared += compare_kernel(&s, F64, 1e-10, r);
        compared += compare_kernel(&s, F32, 1e-4, r);
        sample_close(&s);
    }
    if (!compared)
        check_none(r, "no listed and used operation has a CPU kernel");
    else
        check_note(r, "relative to the tolerance: 1e-10 in fp64, 1e-4 in fp32");
}

/* ---- grad against differences ---- */

static double weighted(const op_tape *t)
{
    const node *y = tape_at(t->c, t->y);
    double sum = 0;
    for (int64_t i = 0; i < node_count(y); i++)
        sum += check_number(y->data, F64, (size_t)i) * check_hashed(31, (uint64_t)i);
    return sum;
}

static double difference(op_tape *reference, const sample *s, int k, size_t j, err *e)
{
    double *x = (double *)s->data[k] + j, old = *x, h = 1e-5, high, low;
    *x = old + h;
    high = run_op(reference, s, e) ? NAN : weighted(reference);
    *x = old - h;
    low = run_op(reference, s, e) ? NAN : weighted(reference);
    *x = old;
    return (high - low) / (2 * h);
}

/* The gradient of sum(y * weights), by the operation's own rule, of every input that has one. */
static int trace_gradient(op_tape *t, const sample *s, err *e)
{
    if (trace_op(t, s, F64, true, e)) return -1;
    ab_ctx *c = t->c;
    int64_t d[4];
    memcpy(d, tape_at(c, t->y)->dim, sizeof d);
    double *w = xmalloc(count(d) * sizeof *w);
    for (size_t i = 0; i < count(d); i++) w[i] = check_hashed(31, i);
    ab_t loss = t_sum_to(c, t_binary(c, OP_MUL, t->y, t_const(c, d, w)), (int64_t[4]){1, 1, 1, 1});
    free(w);
    int bad = tape_backward(c, loss);
    for (int k = 0; k < s->op->n_in && !bad; k++)
        if (!is_ids(s, k) && c->grad[t->in[k].id])
            t_keep(c, (ab_t){c->grad[t->in[k].id]}, arena_printf(&c->memory, "d%d", k));
    if (!bad) bad = tape_plan(c, NULL, NULL);
    return bad ? fail(e, "%s", c->error.text) : run_op(t, s, e);
}

static void compare_gradient(const sample *s, check_result *r)
{
    op_tape gradient = {0}, reference = {0};
    err e = {0};
    if (!trace_gradient(&gradient, s, &e) && !trace_op(&reference, s, F64, false, &e)) {
        t_keep(reference.c, reference.y, "y");
        if (tape_plan(reference.c, NULL, NULL)) fail(&e, "%s", reference.c->error.text);
    }
    for (int k = 0; k < s->op->n_in && !e.text[0]; k++) {
        int32_t g = is_ids(s, k) ? 0 : gradient.c->grad[gradient.in[k].id];
        size_t n = count(s->dim[k]);
        for (size_t i = 0; i < 12 && !e.text[0] && !is_ids(s, k); i++) {
            size_t j = (size_t)((check_hashed(41, i) + 1) / 2 * (double)n);
            double claimed = g ? check_number(gradient.c->v[g].data, F64, j) : 0,
                   d = difference(&reference, s, k, j, &e);
            if (check_beyond(r, fabs(d - claimed) / fmax(fmax(fabs(d), fabs(claimed)), 0.03)))
                check_fail(r,
                           "operation '%s': its grad for input %d at element %zu is %.9g, differences of its "
                           "reference give %.9g",
                           s->op->name, k, j, claimed, d);
        }
    }
    if (e.text[0]) check_fail(r, "operation '%s': %s", s->op->name, e.text);
    close_op(&gradient);
    if (reference.c) close_op(&reference);
}

void check_op_gradients(const plugin *p, check_result *r)
{
    size_t compared = 0;
    for (const ab_op *const *op = p->desc.ops; op && *op && r->outcome != CHECK_FAIL; op++) {
        sample s;
        if (!(*op)->cpu || !(*op)->grad || !find_sample(p, *op, &s, r)) continue;
        compare_gradient(&s, r);
        sample_close(&s);
        compared++;
    }
    if (!compared) check_none(r, "no listed and used operation has both a kernel and a grad");
}
