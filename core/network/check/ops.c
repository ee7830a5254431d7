/* ops.c - checks a plugin's own operations (ops.h): compares the kernel with the reference, also on larger numbers;
 * finds writes outside the output; checks that calls give equal bits; compares grad with finite differences. */
#include "network/check/ops.h"
#include "base/vmath.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ZONE = 1 << 14, CALLS = 4000, DAY = 86400 };

/* ---- memory with guard zones ---- */

typedef struct {
    unsigned char *block, *data, *before; /* before: a copy of an input's data, made before the call */
    size_t bytes;
} zoned;

static zoned zoned_new(size_t bytes, int zone)
{
    zoned z = {.bytes = bytes};
    z.block = xmalloc(bytes + 2 * ZONE + 64);
    memset(z.block, zone, bytes + 2 * ZONE + 64);
    z.data = z.block + ZONE + (64 - (uintptr_t)(z.block + ZONE) % 64) % 64;
    return z;
}
static void zoned_free(zoned *z)
{
    free(z->block);
    free(z->before);
}
/* The first overwritten guard byte: > 0 counted from the data's end, < 0 from its beginning; 0: no such byte. */
static int64_t trespass(const zoned *z, int zone)
{
    const unsigned char *end = z->block + z->bytes + 2 * ZONE + 64;
    for (const unsigned char *p = z->data + z->bytes; p < end; p++)
        if (*p != zone) return p - (z->data + z->bytes) + 1;
    for (const unsigned char *p = z->data - 1; p >= z->block; p--)
        if (*p != zone) return p - z->data;
    return 0;
}

static void store_number(void *v, dtype type, size_t i, double x)
{
    if (type == F64) ((double *)v)[i] = x;
    if (type == F32) ((float *)v)[i] = (float)x;
    if (type == BF16) ((bf16 *)v)[i] = to_bf16((float)x);
}

/* Element i of input k: the recorded one if size is 0, else a pseudo-random number in [-size, size). */
static double input_at(const sample *s, int k, double size, size_t i)
{
    return size > 0 ? size * check_hashed(501 + (uint64_t)k, i) : ((const double *)s->data[k])[i];
}

static void fill_input(const sample *s, int k, double size, dtype type, void *to)
{
    size_t n = elements_of(s->dim[k]);
    if (sample_has_ids(s, k)) memcpy(to, s->data[k], n * sizeof(int32_t));
    for (size_t i = 0; i < n && !sample_has_ids(s, k); i++) store_number(to, type, i, input_at(s, k, size, i));
}

/* ---- a tape with only this operation ---- */

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

/* Traces the reference, or if `call` is true, the operation with its kernel. types: the inputs' types; NULL: all have
 * `type`. Inputs of ids are I32. */
static int trace_op(op_tape *t, const sample *s, dtype type, const dtype *types, bool call, err *e)
{
    t->none = (params){0};
    t->c = tape_new(&t->none, &cpu_backend, type, true);
    for (int k = 0; k < s->op.n_in; k++) {
        const int64_t *d = s->dim[k];
        t->in[k] = t_input(t->c, arena_printf(&t->c->memory, "in%d", k),
                           sample_has_ids(s, k) ? I32
                           : types              ? types[k]
                                                : type,
                           PHASE_STEP, d[0], d[1], d[2], d[3]);
        tape_at(t->c, t->in[k])->needs = !sample_has_ids(s, k);
    }
    t->c->hook = AB_IN_REFERENCE;
    t->y = call ? t_call(t->c, &s->op, t->in, s->attr, 0)
                : tape_given(t->c, s->op.reference(t->c, t->in, s->attr), "operation", s->op.name);
    t->c->hook = AB_IN_HOST;
    if (call && t->y.id && tape_at(t->c, t->y)->op == OP_CALL) tape_at(t->c, t->y)->call_attr = s->attr;
    if (t->c->error.text[0]) return fail(e, "%s", t->c->error.text);
    if (has_params(t->c)) return fail(e, "its reference creates parameters; pass them as inputs instead");
    return 0;
}

static int run_op(op_tape *t, const sample *s, double size, err *e)
{
    for (int k = 0; k < s->op.n_in; k++) {
        node *v = tape_at(t->c, t->in[k]);
        if (v->data) fill_input(s, k, size, v->type, v->data);
    }
    return tape_run(t->c, &(run_options){.from = PHASE_CONST}) ? fail(e, "%s", t->c->error.text) : 0;
}

static void close_op(op_tape *t)
{
    tape_free(t->c);
    params_free(&t->none);
}

/* ---- kernel against reference ---- */

enum { INPUT_ZONE = 0xff /* a number made of this byte is NaN in every type */, OUTPUT_ZONE = 0xa5 };

typedef struct {
    zoned in[4], out;
    ab_view view[4];
    ab_run run;
} kernel_call;

static void call_open(kernel_call *k, const sample *s, const dtype *types, dtype out_type, const int64_t dim[4],
                      double size)
{
    *k = (kernel_call){0};
    for (int i = 0; i < s->op.n_in; i++) {
        size_t bytes = elements_of(s->dim[i]) * dtype_size(types[i]);
        k->in[i] = zoned_new(bytes, INPUT_ZONE);
        fill_input(s, i, size, types[i], k->in[i].data);
        k->in[i].before = memcpy(xmalloc(bytes + 1), k->in[i].data, bytes);
        k->view[i] = (ab_view){.data = k->in[i].data, .dtype = (int32_t)types[i]};
        memcpy(k->view[i].dim, s->dim[i], sizeof s->dim[i]);
    }
    k->out = zoned_new(elements_of(dim) * dtype_size(out_type), OUTPUT_ZONE);
    k->run = (ab_run){
        .in = k->view, .n_in = s->op.n_in, .out = {.data = k->out.data, .dtype = (int32_t)out_type}, .attr = s->attr};
    memcpy(k->run.out.dim, dim, sizeof k->run.out.dim);
}
static void call_close(kernel_call *k)
{
    for (size_t i = 0; i < LENGTH(k->in); i++) zoned_free(&k->in[i]);
    zoned_free(&k->out);
}

static const char *shapes_of(const sample *s, char out[280])
{
    out[0] = 0;
    for (int k = 0; k < s->op.n_in; k++) {
        char one[64];
        strcat(strcat(out, k ? ", " : ""), shape_text(s->dim[k], one));
    }
    return out;
}

static bool keeps_to_output(const sample *s, const kernel_call *k, check_result *r)
{
    char shapes[280];
    int64_t at = trespass(&k->out, OUTPUT_ZONE);
    if (at)
        check_fail(r, "operation '%s': its CPU kernel writes %s its output, at byte %lld (inputs %s)", s->op.name,
                   at > 0 ? "behind" : "before", (long long)at, shapes_of(s, shapes));
    for (int i = 0; i < s->op.n_in; i++)
        if (memcmp(k->in[i].data, k->in[i].before, k->in[i].bytes) || trespass(&k->in[i], INPUT_ZONE))
            check_fail(r, "operation '%s': its CPU kernel changes input %d or what lies around it (inputs %s)",
                       s->op.name, i, shapes_of(s, shapes));
    return r->outcome != CHECK_FAIL;
}

/* Compares one kernel call with the reference on equal numbers; `size`: as for input_at. False: the kernel declined. */
static bool compare_kernel(const sample *s, dtype type, const dtype *types, double size, double allowed,
                           check_result *r)
{
    CLEANUP(close_op) op_tape t;
    err e = {0};
    char shapes[280];
    int bad = trace_op(&t, s, type, types, false, &e);
    if (!bad) {
        t_keep(t.c, t.y, "y");
        bad = tape_plan(t.c, NULL, NULL) ? fail(&e, "%s", t.c->error.text) : run_op(&t, s, size, &e);
    }
    if (bad) {
        check_fail(r, "operation '%s': %s", s->op.name, e.text);
        return false;
    }
    const node *y = tape_at(t.c, t.y);
    dtype plain[4];
    for (int i = 0; i < 4; i++) plain[i] = s->type[i] == I32 ? I32 : type;
    CLEANUP(call_close) kernel_call k;
    call_open(&k, s, types ? types : plain, types ? s->mixed[4] : y->type, y->dim, size);
    memset(k.out.data, INPUT_ZONE, k.out.bytes);
    if (s->op.cpu(&k.run)) return false;
    double worst = 0, most = 1e-30;
    for (size_t i = 0; i < elements_of(y->dim); i++) {
        double a = number_at(k.out.data, (dtype)k.run.out.dtype, i), b = number_at(y->data, y->type, i);
        if (!isfinite(b)) continue;
        worst = check_larger(worst, fabs(a - b));
        most = fmax(most, fabs(b));
    }
    if (keeps_to_output(s, &k, r) && check_beyond(r, worst / most / allowed)) {
        char numbers[64] = "";
        if (size > 0) snprintf(numbers, sizeof numbers, ", numbers up to %g", size);
        check_fail(r,
                   "operation '%s': its CPU kernel in %s differs from its reference by %.2g (relative), allowed "
                   "%.0e (inputs %s%s); every element of the output must be written",
                   s->op.name, types ? "bf16's mixed types" : dtype_name(type), worst / most, allowed,
                   shapes_of(s, shapes), numbers);
    }
    return true;
}

/* Checks that every call, on any date, gives equal bits and leaks no memory. */
static void call_often(const sample *s, check_result *r)
{
    CLEANUP(close_op) op_tape t;
    err e = {0};
    dtype types[4];
    for (int k = 0; k < 4; k++) types[k] = s->type[k] == I32 ? I32 : F32;
    if (trace_op(&t, s, F32, NULL, false, &e)) return;
    CLEANUP(call_close) kernel_call k;
    call_open(&k, s, types, tape_at(t.c, t.y)->type, tape_at(t.c, t.y)->dim, 0);
    AUTOFREE unsigned char *first = xmalloc(k.out.bytes + 1);
    size_t settled = 0;
    double start = ticks();
    int i = 0;
    for (; i < CALLS && r->outcome != CHECK_FAIL && ticks() - start < 2; i++) {
        check_disguise_as((int64_t)i * (DAY + 3671), i % 4);
        memset(k.out.data, INPUT_ZONE, k.out.bytes);
        if (s->op.cpu(&k.run)) break;
        if (!i) memcpy(first, k.out.data, k.out.bytes);
        if (memcmp(first, k.out.data, k.out.bytes))
            check_fail(r,
                       "operation '%s': call %d of its CPU kernel gives other bits than the first on the same inputs: "
                       "it keeps state, or depends on time or environment",
                       s->op.name, i + 1);
        size_t used = check_memory_in_use();
        if (i == 10) settled = used;
        if (i > 10 && used > settled + 32 * (size_t)i + 4096)
            check_fail(r, "operation '%s': its CPU kernel keeps memory: %zu bytes after %d calls", s->op.name,
                       used - settled, i - 10);
    }
    check_disguise_as(0, 0);
    keeps_to_output(s, &k, r);
}

void check_kernels(const plugin *p, check_result *r)
{
    static const double larger[] = {1, 8, 100, 3000};
    samples all;
    size_t compared = 0;
    bool good = check_find_samples(p, &all, r);
    for (size_t i = 0; i < all.n && r->outcome != CHECK_FAIL; i++) {
        const sample *s = &all.at[i];
        if (!s->is->cpu) continue;
        call_often(s, r);
        if (r->outcome == CHECK_FAIL) break;
        bool f64 = compare_kernel(s, F64, NULL, 0, 1e-10, r), f32 = compare_kernel(s, F32, NULL, 0, 1e-4, r);
        compared += f64 + f32;
        for (size_t k = 0; k < LENGTH(larger) && r->outcome != CHECK_FAIL; k++) {
            if (f64) compare_kernel(s, F64, NULL, larger[k], 1e-7, r);
            if (f32 && r->outcome != CHECK_FAIL) compare_kernel(s, F32, NULL, larger[k], 2e-3, r);
        }
        if (r->outcome != CHECK_FAIL) compared += compare_kernel(s, BF16, s->mixed, 0, 0.05, r);
    }
    arena_free(&all.memory);
    if (!compared && good)
        check_none(r, "no operation that it calls has a CPU kernel");
    else if (compared)
        check_note(r, "%zu uses; the difference divided by the tolerance (fp64 1e-10, fp32 1e-4, bf16 0.05)", all.n);
}

/* ---- grad against differences ---- */

static double weighted(const op_tape *t)
{
    const node *y = tape_at(t->c, t->y);
    double sum = 0;
    for (int64_t i = 0; i < node_count(y); i++)
        sum += number_at(y->data, F64, (size_t)i) * check_hashed(31, (uint64_t)i);
    return sum;
}

static double difference(op_tape *reference, const sample *s, int k, size_t j, double h, err *e)
{
    double *x = (double *)s->data[k] + j, old = *x, high, low;
    *x = old + h;
    high = run_op(reference, s, 0, e) ? NAN : weighted(reference);
    *x = old - h;
    low = run_op(reference, s, 0, e) ? NAN : weighted(reference);
    *x = old;
    return (high - low) / (2 * h);
}

/* Traces the gradient of sum(y * weights) by the operation's grad, for every input that has one. */
static int trace_gradient(op_tape *t, const sample *s, err *e)
{
    if (trace_op(t, s, F64, NULL, true, e)) return -1;
    ab_ctx *c = t->c;
    int64_t d[4];
    memcpy(d, tape_at(c, t->y)->dim, sizeof d);
    AUTOFREE double *w = xmalloc(elements_of(d) * sizeof *w);
    for (size_t i = 0; i < elements_of(d); i++) w[i] = check_hashed(31, i);
    ab_t loss = t_sum_to(c, t_binary(c, OP_MUL, t->y, t_const(c, d, w)), (int64_t[4]){1, 1, 1, 1});
    int bad = tape_backward(c, loss);
    for (int k = 0; k < s->op.n_in && !bad; k++)
        if (!sample_has_ids(s, k) && c->grad[t->in[k].id])
            t_keep(c, (ab_t){c->grad[t->in[k].id]}, arena_printf(&c->memory, "d%d", k));
    if (!bad) bad = tape_plan(c, NULL, NULL);
    return bad ? fail(e, "%s", c->error.text) : run_op(t, s, 0, e);
}

/* The smallest relative error over a few step widths, because a step may cross a kink. */
static double op_error(op_tape *reference, const sample *s, int k, size_t j, double claimed, double *d, err *e)
{
    static const double widths[] = {1e-5, 1e-4, 2e-6, 4e-7};
    double best = INFINITY;
    for (size_t i = 0; i < LENGTH(widths) && !(best < 1e-7) && !e->text[0]; i++) {
        double found = difference(reference, s, k, j, widths[i], e);
        double error = fabs(found - claimed) / fmax(fmax(fabs(found), fabs(claimed)), 0.03);
        if (i == 0 || error < best) best = error, *d = found;
    }
    return best;
}

static void compare_gradient(const sample *s, int elements, check_result *r)
{
    CLEANUP(close_op) op_tape gradient = {0}, reference = {0};
    err e = {0};
    char shapes[280];
    if (!trace_gradient(&gradient, s, &e) && !trace_op(&reference, s, F64, NULL, false, &e)) {
        t_keep(reference.c, reference.y, "y");
        if (tape_plan(reference.c, NULL, NULL)) fail(&e, "%s", reference.c->error.text);
    }
    for (int k = 0; k < s->op.n_in && !e.text[0]; k++) {
        int32_t g = sample_has_ids(s, k) ? 0 : gradient.c->grad[gradient.in[k].id];
        size_t n = elements_of(s->dim[k]);
        for (int i = 0; i < elements && !e.text[0] && !sample_has_ids(s, k) && r->outcome != CHECK_FAIL; i++) {
            size_t j = (size_t)((check_hashed(41, (uint64_t)i) + 1) / 2 * (double)n);
            double claimed = g ? number_at(gradient.c->v[g].data, F64, j) : 0, d = 0;
            double error = op_error(&reference, s, k, j, claimed, &d, &e);
            if (check_beyond(r, error))
                check_fail(r,
                           "operation '%s': its grad for input %d at element %zu is %.9g, differences of its "
                           "reference give %.9g (inputs %s)",
                           s->op.name, k, j, claimed, d, shapes_of(s, shapes));
        }
    }
    if (e.text[0]) check_fail(r, "operation '%s': %s", s->op.name, e.text);
}

static void enlarge(const sample *s, double by)
{
    for (int k = 0; k < s->op.n_in; k++)
        for (size_t i = 0; i < elements_of(s->dim[k]) && !sample_has_ids(s, k); i++) ((double *)s->data[k])[i] *= by;
}

void check_op_gradients(const plugin *p, check_result *r)
{
    samples all;
    size_t compared = 0;
    bool good = check_find_samples(p, &all, r);
    for (size_t i = 0; i < all.n && r->outcome != CHECK_FAIL; i++) {
        const sample *s = &all.at[i];
        if (!s->is->grad) continue;
        bool small = elements_of(s->dim[0]) < 20000;
        compare_gradient(s, small ? 12 : 3, r);
        for (int k = 0; k < 2 && small && r->outcome != CHECK_FAIL; k++) enlarge(s, 4), compare_gradient(s, 8, r);
        compared++;
    }
    arena_free(&all.memory);
    if (!compared && good) check_none(r, "no operation that it calls has a grad");
}
