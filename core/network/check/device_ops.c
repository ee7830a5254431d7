/* device_ops.c - compares a device with the CPU one operation at a time: every operation of a training step and a few
 * decoding steps of small models, with the same inputs on both sides, so that a difference is due to the operation
 * itself. */
#include "network/check/internal.h"
#include <math.h>

enum { STATES = 64, WIDTH = 2, CAPACITY = 8, STEPS = 3 };

typedef struct { /* a tape, traced for the CPU and for the device; both keep every value */
    const pairing *w;
    const char *what;
    ab_ctx *cpu, *device;
    check_result *r;
    int64_t calls;
    bool seen[OP_COUNT];
    op worst;
} lockstep;

static size_t bytes_of(const node *v) { return (size_t)node_count(v) * dtype_size(v->type); }
static bool kept(const node *v) { return v->live && v->data && node_count(v); }

static void keep_all(ab_ctx *c)
{
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].op >= OP_PART && node_count(&c->v[i]) && !c->v[i].name) t_keep(c, (ab_t){i}, "value");
}

/* ---- one operation ---- */

static double largest(const node *v)
{
    double most = 0;
    for (int64_t i = 0; i < node_count(v) && v->type != I32; i++)
        if (isfinite(number_at(v->data, v->type, (size_t)i)))
            most = fmax(most, fabs(number_at(v->data, v->type, (size_t)i)));
    return most;
}

static void give_inputs(const lockstep *l, int32_t i)
{
    for (int k = 0; k < l->cpu->v[i].n_in; k++) {
        int32_t from = l->cpu->v[i].in[k];
        const node *v = &l->cpu->v[from];
        if (!from || !kept(v) || v->op == OP_PARAM || v->op == OP_CONST) continue;
        backend_write(l->device->backend, l->device->v[from].data, v->data, bytes_of(v));
    }
}

/* Compares node `out` of the call at `i` on both sides. Sums may cancel, so the error is relative to the largest result
 * or a tenth of the largest input. The error in bf16, where one side may round up and the other down, is divided by
 * 1000; by 2000 if attention's gradient multiplies twice with rounded numbers; by 4000 for the leaves of a score
 * program, which multiply once more (the device computes rowsum(dy y) from a y in bf16, so its scores' gradients do not
 * sum to exactly 0). */
static int compare_value(lockstep *l, int32_t i, int32_t out, err *e)
{
    const node *v = &l->cpu->v[out], *at = &l->cpu->v[i];
    if (!kept(v)) return 0;
    AUTOFREE char *found = xmalloc(bytes_of(v));
    if (backend_read(l->device->backend, found, l->device->v[out].data, bytes_of(v), e)) return -1;
    double size = fmax(largest(v), 1e-30), worst = 0, unit = v->type == BF16 || l->cpu->compute == BF16 ? 1e3 : 1;
    bool leaf = at->op == OP_ATTEND_PROGRAM_BACK && out - i >= OUTPUT(ATTEND_PROGRAM_BACK, d_leaf);
    if (unit > 1 && (at->op == OP_ATTEND_BACK || at->op == OP_ATTEND_PROGRAM_BACK)) unit *= leaf ? 4 : 2;
    for (int k = 0; k < at->n_in; k++)
        if (at->in[k] && kept(&l->cpu->v[at->in[k]])) size = fmax(size, 0.1 * largest(&l->cpu->v[at->in[k]]));
    int64_t first = 0;
    for (int64_t j = 0; j < node_count(v); j++) {
        double a = number_at(found, v->type, (size_t)j), b = number_at(v->data, v->type, (size_t)j);
        double d = a == b || (isnan(a) && isnan(b)) ? 0 : isfinite(a - b) ? fabs(a - b) / size : INFINITY;
        if (d > worst) worst = d, first = j;
    }
    worst /= unit;
    if (!(worst <= l->r->measured)) l->worst = at->op;
    if (check_beyond(l->r, worst)) {
        char shape[64];
        check_fail(l->r,
                   "%s, %s: operation %s gives %.9g on %s, the CPU %.9g: element %lld of %s (value %d of the tape; "
                   "largest %.3g)",
                   l->w->name, l->what, op_names[at->op], number_at(found, v->type, (size_t)first),
                   l->device->backend->name, number_at(v->data, v->type, (size_t)first), (long long)first,
                   shape_text(v->dim, shape), (int)out, size);
    }
    return 0;
}

static int one_call(lockstep *l, int32_t i, const run_options *o, err *e)
{
    const node *v = &l->cpu->v[i];
    give_inputs(l, i);
    if (tape_run_node(l->device, i, o, NULL))
        return fail(e, "on %s: %s", l->device->backend->name, l->device->error.text);
    if (tape_run_node(l->cpu, i, o, NULL)) return fail(e, "%s", l->cpu->error.text);
    l->calls++;
    l->seen[v->op] = true;
    int bad = 0;
    for (int k = 0; k < v->n_out && !bad && v->op != OP_STATE_WRITE; k++) bad = compare_value(l, i, i + k, e);
    for (int k = 0; k < v->n_in && !bad; k++) /* in-place operations overwrite this input */
        if (l->cpu->v[v->in[k]].op == OP_STATE) bad = compare_value(l, i, v->in[k], e);
    return bad;
}

/* Runs the device first, because this run sets the step, which determines what dropout drops. */
static int run_both(lockstep *l, const run_options *o, err *e)
{
    if (l->cpu->n != l->device->n)
        return fail(e, "found %d values on the CPU's tape, but %d on that of %s", l->cpu->n, l->device->n,
                    l->device->backend->name);
    if (tape_run(l->device, o)) return fail(e, "on %s: %s", l->device->backend->name, l->device->error.text);
    for (int32_t i = 1; i < l->cpu->n && l->r->outcome != CHECK_FAIL; i++)
        if (tape_is_call(&l->cpu->v[i]) && one_call(l, i, o, e)) return -1;
    return 0;
}

/* ---- a training step ---- */

static int open_training(pass *p, model *m, err *e)
{
    sentences text;
    check_sentences(&text);
    if (pass_trace(p, m, &text, true, 2, 0, e)) return -1;
    keep_all(p->c);
    return pass_plan(p, e);
}

static void train_both(lockstep *l, model *cpu, model *device, err *e)
{
    CLEANUP(pass_close) pass a = {0}, b = {0};
    if (open_training(&a, cpu, e) || open_training(&b, device, e)) return;
    l->cpu = a.c, l->device = b.c;
    run_both(l, &(run_options){.seed = 3, .step = 1, .from = PHASE_CONST}, e);
}

/* ---- decoding steps ---- */

typedef struct {
    const backend *on;
    void *at[STATES];
    size_t n;
} states;

static void *new_state(void *self, const char *name, size_t bytes)
{
    states *s = self;
    (void)name;
    if (s->n == STATES) return NULL;
    s->at[s->n] = s->on->alloc(bytes);
    backend_zero(s->on, s->at[s->n], bytes);
    return s->at[s->n++];
}

/* Sets the inputs: two sentences of 3 and 4 rows, each with two hypotheses that swap after every step. */
static void step_inputs(ab_ctx *c, int32_t t)
{
    enum { ROWS = 2 * WIDTH };
    static const int32_t offset[] = {0, 3, 7}, length[] = {3, 4};
    int32_t tokens[ROWS], parents[ROWS], times[ROWS], ancestors[ROWS * CAPACITY];
    const node *memory = tape_at(c, tape_find(c, "memory"));
    AUTOFREE float *rows = xmalloc((size_t)node_count(memory) * sizeof *rows + 1);
    for (int64_t i = 0; i < node_count(memory); i++) rows[i] = (float)check_hashed(61, (uint64_t)i);
    for (int r = 0; r < ROWS; r++) {
        tokens[r] = VOCAB_SPECIALS + (r + t) % (CHECK_VOCAB - VOCAB_SPECIALS);
        parents[r] = t ? r ^ 1 : r;
        times[r] = t;
        for (int k = 0; k < CAPACITY; k++) ancestors[r * CAPACITY + k] = k < t && (t - k) % 2 ? r ^ 1 : r;
    }
    tape_set(c, "memory", rows);
    tape_set(c, "src.offset", offset), tape_set(c, "src.len", length);
    tape_set(c, "tgt.ids", tokens), tape_set(c, "parents", parents), tape_set(c, "ancestors", ancestors);
    tape_set(c, "time", times), tape_set(c, "pos", times), tape_set(c, "beam.pos", times);
}

static ab_ctx *step_tape(model *m, states *s, err *e)
{
    model_shape shape = {.batch = 2, .src_rows = 7, .src_time = 4};
    model_step step = {.beam = WIDTH, .capacity = CAPACITY, .cache_rows = 2 * WIDTH, .seen = CAPACITY};
    ab_ctx *c = model_step_tape(m, &shape, &step, e);
    *s = (states){.on = m->backend};
    if (!c) return NULL;
    keep_all(c);
    if (!tape_plan(c, new_state, s)) return c;
    fail(e, "%s", c->error.text);
    tape_free(c);
    return NULL;
}

static void decode_both(lockstep *l, model *cpu, model *device, err *e)
{
    states a = {0}, b = {0};
    l->cpu = step_tape(cpu, &a, e);
    l->device = l->cpu ? step_tape(device, &b, e) : NULL;
    for (int32_t t = 0; t < STEPS && l->device; t++) {
        step_inputs(l->cpu, t), step_inputs(l->device, t);
        if (run_both(l, &(run_options){.step = 1, .from = PHASE_CONST}, e)) break;
    }
    tape_free(l->device);
    tape_free(l->cpu);
    for (size_t i = 0; i < a.n; i++) a.on->release(a.at[i]);
    for (size_t i = 0; i < b.n; i++) b.on->release(b.at[i]);
}

/* ---- the check ---- */

typedef struct {
    const char *name;
    dtype compute;
    bool generic, decoding;
} way;
static const way ways[] = {{"training", F32, false, false},
                           {"training, never fused", F32, true, false},
                           {"training in bf16", BF16, false, false},
                           {"decoding", F32, false, true},
                           {"decoding, never fused", F32, true, true}};

static void both(const pairing *w, const way *how, lockstep *l)
{
    model_kind here = {.compute = how->compute, .dropout = how->decoding ? 0 : 0.2, .generic = how->generic},
               there = here;
    CLEANUP(model_free) model a = {0}, b = {0};
    err e = {0};
    l->w = w;
    l->what = how->name;
    here.on = check_the_devices_cpu();
    there.on = check_the_composing_device();
    if (!check_has_model(&a, w, &here, l->r)) return;
    if (!check_model_open(&b, w, &there, &e)) (how->decoding ? decode_both : train_both)(l, &a, &b, &e);
    if (e.text[0]) check_fail(l->r, "%s, %s: %s", w->name, l->what, e.text);
}

void check_device_ops(const plugin *p, check_result *r)
{
    lockstep l = {.r = r};
    AUTOFREE pairing *w = NULL;
    int kinds = 0;
    if (!check_has_device(r)) return;
    size_t n = check_pairings(p, &w, r);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < LENGTH(ways) && r->outcome != CHECK_FAIL; k++) both(&w[i], &ways[k], &l);
    for (int o = 0; o < OP_COUNT; o++) kinds += l.seen[o];
    check_note(r, "%lld calls of %d operations; largest difference in %s", (long long)l.calls, kinds,
               op_names[l.worst]);
}
