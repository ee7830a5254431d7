/* exec.c - running a planned tape: a loop over kernel calls, and the profile of that loop. */
#include "tensor/graph/profile.h"
#include "tensor/graph/tape.h"
#include "tensor/graph/views.h"
#include <stdlib.h>
#include <string.h>

static struct {
    bool on;
    op_profile of[OP_COUNT];
} profile;

static view view_of(const ab_ctx *c, int32_t id)
{
    const node *v = &c->v[id];
    view w = {.data = id ? v->data : NULL, .type = v->type, .param = v->param};
    memcpy(w.dim, v->dim, sizeof w.dim);
    return w;
}

void tape_call(const ab_ctx *c, int32_t i, const run_options *o, call *k)
{
    const node *v = &c->v[i];
    k->op = v->op;
    k->n_in = v->n_in;
    k->n_out = v->n_out;
    for (int j = 0; j < v->n_in; j++) k->in[j] = view_of(c, v->in[j]);
    for (int j = 0; j < v->n_out; j++) k->out[j] = view_of(c, i + j);
    k->a = v->a;
    k->training = c->training;
    k->batch_invariant = c->batch_invariant;
    k->seed = o->seed;
    k->step = o->step;
    k->params = c->params;
    k->call = v->call;
    k->call_attr = v->call_attr;
    k->reader = o->reader && o->reader->node == i ? o->reader : NULL;
    k->batch = 1;
    k->product = NULL;
    if (!v->joint || v->waits) return;
    const joint_group *t = &c->joints[v->joint - 1];
    k->batch = t->n;
    memcpy(k->stride, t->stride, sizeof k->stride);
}

bool profile_is_on(void) { return profile.on; }

bool tape_is_call(const node *v) { return v->live && v->op > OP_PART && v->op != OP_RESHAPE && !v->waits; }

int32_t tape_written_by(const ab_ctx *c, int32_t i)
{
    if (c->v[i].op == OP_PART) i = c->v[i].i.PART.of;
    const joint_group *t = c->v[i].waits && c->v[i].joint ? &c->joints[c->v[i].joint - 1] : NULL;
    return t ? t->member[t->n - 1] : i;
}

int tape_run_node(ab_ctx *c, int32_t i, const run_options *o, void (*wait)(void))
{
    call k, product;
    tape_call(c, i, o, &k);
    if (c->v[i].product) tape_call(c, c->v[i].product, o, &product), k.product = &product;
    if (profile.on && wait) wait();
    double start = profile.on ? ticks() : 0;
    const node *v = &c->v[i];
    if (c->backend->kernels[k.op](&k, &c->error))
        return v->file ? fail_in(&c->error, "%s:%d: %s: ", v->file, v->line, op_names[k.op])
                       : fail_in(&c->error, "%s: ", op_names[k.op]);
    if (profile.on) {
        if (wait) wait();
        profile.of[k.op].seconds += ticks() - start;
        profile.of[k.op].flops += (double)k.batch * call_flops(&k, c->backend);
        profile.of[k.op].bytes += (double)k.batch * call_bytes(&k);
        if (k.product) profile.of[k.op].flops += call_flops(k.product, c->backend);
        if (k.product) profile.of[k.op].bytes += call_bytes(k.product);
        profile.of[k.op].calls++;
    }
    return 0;
}

static int run_phases(ab_ctx *c, const run_options *o, phase first, phase last)
{
    if (c->error.text[0]) return -1;
    if (!c->planned) return fail(&c->error, "the tape was not planned");
    if (c->backend->run) return c->backend->run(c, o, first, last);
    for (int32_t i = 1; i < c->n; i++) {
        const node *v = &c->v[i];
        if (!tape_is_call(v) || v->phase < first || v->phase > last) continue;
        if (tape_run_node(c, i, o, NULL)) return -1;
        if (o->after && o->after(o->self, i + v->n_out - 1, &c->error)) return -1;
    }
    return 0;
}

int tape_run(ab_ctx *c, const run_options *o) { return run_phases(c, o, o->from, PHASE_STEP); }
int tape_run_phase(ab_ctx *c, const run_options *o, phase only) { return run_phases(c, o, only, only); }

/* ---- between the host and a backend's memory ---- */

void backend_write(const backend *b, void *to, const void *from, size_t bytes)
{
    if (on_device(b))
        b->copy_in(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

int backend_read(const backend *b, void *to, const void *from, size_t bytes, err *e)
{
    if (on_device(b)) return b->copy_out(to, from, bytes, e);
    memcpy(to, from, bytes);
    return 0;
}

void backend_zero(const backend *b, void *at, size_t bytes)
{
    if (on_device(b))
        b->zero(at, bytes);
    else
        memset(at, 0, bytes);
}

void backend_move(const backend *b, void *to, const void *from, size_t bytes)
{
    if (on_device(b))
        b->copy(to, from, bytes);
    else
        memmove(to, from, bytes);
}

void tape_write(ab_ctx *c, ab_t x, const void *from, size_t bytes)
{
    const node *v = &c->v[x.id];
    if (x.id && v->live && v->data) backend_write(c->backend, v->data, from, bytes);
}

void tape_set(ab_ctx *c, const char *name, const void *from)
{
    ab_t x = tape_find(c, name);
    if (x.id) tape_write(c, x, from, (size_t)node_count(tape_at(c, x)) * dtype_size(tape_at(c, x)->type));
}

int tape_read(const ab_ctx *c, ab_t x, void *to, size_t bytes, err *e)
{
    return backend_read(c->backend, to, c->v[x.id].data, bytes, e);
}

/* ---- a plugin's operation that has no kernel for the type ---- */

int call_reference(const call *k, const backend *b, err *e)
{
    if (!k->call->reference)
        return fail(e, "the kernel of '%s' declines this type, and it has no reference", k->call->name);
    params none = {0}; /* the reference of an operation with a kernel has no parameters of its own */
    const view *out = &k->out[0];
    ab_ctx *c = tape_new(&none, b, out->type, k->training);
    ab_t in[MAX_IN];
    for (int i = 0; i < k->n_in; i++) {
        const int64_t *d = k->in[i].dim;
        in[i] = t_input(c, "input", k->in[i].type, PHASE_STEP, d[0], d[1], d[2], d[3]);
    }
    c->hook = AB_IN_REFERENCE;
    ab_t y = t_cast(c, tape_given(c, k->call->reference(c, in, k->call_attr), "operation", k->call->name), out->type);
    c->hook = AB_IN_HOST;
    t_keep(c, y, "output");
    int rc = tape_plan(c, NULL, NULL);
    if (!rc && none.n) rc = fail(&c->error, "its reference creates parameters");
    for (int i = 0; i < k->n_in && !rc; i++)
        if (tape_at(c, in[i])->data) memcpy(tape_at(c, in[i])->data, k->in[i].data, bytes_of(&k->in[i]));
    if (!rc) rc = tape_run(c, &(run_options){.seed = k->seed, .step = k->step, .from = PHASE_CONST});
    if (rc)
        fail(e, "the kernel of '%s' declines %s, and its reference fails: %s", k->call->name, dtype_name(out->type),
             c->error.text);
    else
        memcpy(out->data, tape_at(c, y)->data, bytes_of(out));
    tape_free(c);
    params_free(&none);
    return rc;
}

/* ---- profile ---- */

void profile_enable(bool on)
{
    profile.on = on;
    if (on) memset(profile.of, 0, sizeof profile.of);
}

static int slower_first(const void *a, const void *b)
{
    double x = profile.of[*(const int *)a].seconds, y = profile.of[*(const int *)b].seconds;
    return x < y ? 1 : x > y ? -1 : 0;
}

void profile_print(FILE *f, double flops, double bytes)
{
    int order[OP_COUNT];
    double total = 0;
    for (int i = 0; i < OP_COUNT; i++) order[i] = i, total += profile.of[i].seconds;
    qsort(order, OP_COUNT, sizeof *order, slower_first);
    fprintf(f, "%-20s %9s %8s %6s %9s %9s %9s\n", "operation", "calls", "seconds", "share", "GFLOP/s", "GB/s",
            flops > 0 ? "of floor" : "");
    for (int i = 0; i < OP_COUNT; i++) {
        const op_profile *p = &profile.of[order[i]];
        if (!p->calls) continue;
        fprintf(f, "%-20s %9lld %8.3f %5.1f%% %9.1f %9.1f", op_names[order[i]], (long long)p->calls, p->seconds,
                100 * p->seconds / total, p->flops / p->seconds * 1e-9, p->bytes / p->seconds * 1e-9);
        if (flops > 0)
            fprintf(f, " %8.0f%%",
                    100 * (p->flops / flops > p->bytes / bytes ? p->flops / flops : p->bytes / bytes) / p->seconds);
        fprintf(f, "\n");
    }
    fprintf(f, "%-20s %9s %8.3f\n", "total", "", total);
    if (flops > 0)
        fprintf(f, "floors: %.1f GFLOP/s of fp32 in registers, %.1f GB/s read from memory, all threads\n", flops * 1e-9,
                bytes * 1e-9);
}
