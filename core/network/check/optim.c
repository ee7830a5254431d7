/* optim.c - an optimizer's update: in tiles and as a whole, element by element, each parameter separately, at zero, on
 * a quadratic, after a restart, after thousands of calls. */
#include "network/check/internal.h"
#include "network/model/groups.h"
#include "network/train/optim.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY = 2 * 4096 + 48,
    FEW = 64,
    STEPS = 3,
    OFTEN = 4000,
    SETTLED = 100,
    KEPT = 16
}; /* MANY: no multiple of the tile, but of PARAM_ALIGN */

/* What a rule that sees shapes is tried on. */
static const param shapes[] = {
    {.name = "tall.w", .dim = {1, 1, 9, 4}, .kind = AB_WEIGHT, .scale = 1},
    {.name = "qkv.w", .dim = {1, 1, 4, 10}, .kind = AB_WEIGHT, .scale = 1, .n_parts = 3, .part = {3, 3, 4}},
    {.name = "stack", .dim = {1, 2, 3, 4}, .kind = AB_WEIGHT, .scale = 1},
    {.name = "b", .dim = {1, 1, 1, 5}, .kind = AB_BIAS, .scale = 1},
    {.name = "one", .dim = {1, 1, 1, 1}, .kind = AB_BIAS, .scale = 1},
    {.name = "ln.g", .dim = {1, 1, 1, 5}, .kind = AB_GAIN, .fill = 1},
    {.name = "embed", .dim = {1, 1, 7, 4}, .kind = AB_EMBEDDING, .scale = -1},
    {.name = "rel_k", .dim = {1, 1, 5, 2}, .kind = AB_TABLE, .scale = 1},
};

typedef struct { /* a model that is nothing but parameters */
    model m;
    optimizer *o;
    void *grad; /* [n] */
    size_t n;   /* elements of a flat vector */
} bench;

static bool is_elementwise(const plugin *p) { return p->iface.optimizer.flags & AB_ELEMENTWISE; }

static void add_parameter(ab_ctx *c, const param *p)
{
    ab_t x = t_param(c, p->name, p->dim, p->scale, p->fill);
    param *made = &c->params->p[tape_at(c, x)->param];
    made->kind = p->kind, made->n_parts = p->n_parts;
    memcpy(made->part, p->part, sizeof made->part);
}

/* The parameters `list`; the settings, or where that is NULL the defaults and -s. */
static int bench_open_with(bench *b, const plugin *p, const param *list, size_t n, dtype type, void *cfg, err *e)
{
    *b = (bench){0};
    model *m = &b->m;
    m->optimizer = p;
    m->compute = type;
    m->backend = &cpu_backend;
    m->cfg.parameter_groups = "";
    m->optimizer_cfg = cfg ? cfg : arena_alloc(&m->memory, p->desc.cfg_size + 16);
    if (!cfg) check_add_settings(&m->set, &m->memory);
    if (!cfg && p->desc.params && config_bind(&m->set, p->desc.name, p->desc.params, m->optimizer_cfg, &m->memory, e))
        return -1;
    ab_ctx *c = tape_new(&m->params, &cpu_backend, type, false);
    for (size_t i = 0; i < n; i++) add_parameter(c, &list[i]);
    tape_free(c);
    if (groups_make(m, e)) return -1;
    params_alloc(&m->params, type, p->iface.optimizer.n_slots, 5, &cpu_backend);
    b->n = m->params.total;
    b->grad = xcalloc(b->n, dtype_size(type));
    b->o = optim_open(m, e);
    return b->o ? 0 : -1;
}

/* One vector of n elements for a rule that works element by element, else all shapes. */
static int bench_open(bench *b, const plugin *p, size_t n, err *e)
{
    param vector = {.name = "w", .dim = {1, 1, 1, (int64_t)n}, .kind = AB_BIAS, .scale = 1};
    if (is_elementwise(p)) return bench_open_with(b, p, &vector, 1, F64, NULL, e);
    return bench_open_with(b, p, shapes, LENGTH(shapes), F64, NULL, e);
}

static void bench_close(bench *b)
{
    optim_close(b->o);
    free(b->grad);
    model_free(&b->m);
}

int check_trace_update(const plugin *p, const void *cfg, err *e)
{
    bench b;
    param vector = {.name = "w", .dim = {1, 1, 1, 16}, .kind = AB_BIAS, .scale = 1};
    bool one = is_elementwise(p);
    int rc = bench_open_with(&b, p, one ? &vector : shapes, one ? 1 : LENGTH(shapes), F64, (void *)cfg, e);
    bench_close(&b);
    return rc;
}

static double *values(const bench *b) { return b->m.params.value; }
static double *gradient(const bench *b) { return b->grad; }
/* Is element i one of a parameter, not of a gap between two? */
static bool is_learned(const bench *b, size_t i)
{
    for (size_t k = 0; k < b->m.params.n; k++)
        if (i >= b->m.params.p[k].at && i < b->m.params.p[k].at + b->m.params.p[k].count) return true;
    return false;
}
static void some_gradient(double *g, size_t n, int64_t step)
{
    for (size_t i = 0; i < n; i++) g[i] = check_hashed(70 + (uint64_t)step, i);
}

/* ---- tiles ---- */

typedef struct { /* the update as one tape over whole vectors */
    ab_ctx *c;
    ab_t p, g, slot[MOST_SLOTS], lr, step, new_p, new_slot[MOST_SLOTS];
} whole;

static void *find_sum(void *self, const char *name, size_t bytes)
{
    (void)bytes;
    return (double *)optim_sums(((bench *)self)->o) + (name[strlen("measured")] - '0');
}

/* The values assigned to each place are kept and read; nothing is overwritten while the tape runs. */
static int whole_open(whole *t, bench *b, err *e)
{
    const ab_optimizer_plugin *rule = &b->m.optimizer->iface.optimizer;
    ab_ctx *c = t->c = tape_new(&b->m.params, &cpu_backend, F64, false);
    int64_t n = (int64_t)b->n; /* of an elementwise rule: one vector */
    t->p = t_input(c, "p", F64, PHASE_STEP, 1, 1, 1, n);
    t->g = t_input(c, "g", F64, PHASE_STEP, 1, 1, 1, n);
    for (uint32_t i = 0; i < rule->n_slots; i++)
        t->slot[i] = t_input(c, arena_printf(&c->memory, "slot%u", i), F64, PHASE_STEP, 1, 1, 1, n);
    t->lr = t_input(c, "lr", F64, PHASE_STEP, 1, 1, 1, 1);
    t->step = t_input(c, "step", F64, PHASE_STEP, 1, 1, 1, 1);
    c->hook = AB_IN_UPDATE;
    c->sums = rule->measure ? SUMS_READ : NO_SUMS, c->n_sums = AB_MEASURED;
    rule->update(c, b->m.optimizer_cfg, t->p, t->g, t->slot, t->lr, t->step);
    int32_t end = c->n;
    for (int32_t i = 1; i < end; i++) {
        if (c->v[i].op != OP_ASSIGN) continue;
        c->v[i].live = false;
        ab_t value = t_reshape(c, (ab_t){c->v[i].i.ASSIGN.value}, c->v[i].dim); /* a name of its own, whatever it is */
        int32_t to = c->v[i].i.ASSIGN.to;
        t_keep(c, value, arena_printf(&c->memory, "new of %d", (int)to));
        if (to == t->p.id) t->new_p = value;
        for (uint32_t k = 0; k < rule->n_slots; k++)
            if (to == t->slot[k].id) t->new_slot[k] = value;
    }
    if (!t->new_p.id) tape_fail(c, "update never assigns p");
    for (uint32_t k = 0; k < rule->n_slots; k++)
        if (!t->new_slot[k].id) tape_fail(c, "update never assigns slot %u", k);
    return tape_plan(c, find_sum, b) ? fail(e, "%s", c->error.text) : 0;
}

static void put(ab_ctx *c, ab_t x, const double *v)
{
    node *n = tape_at(c, x);
    if (n->data) memcpy(n->data, v, (size_t)node_count(n) * sizeof *v);
}

/* One update of p and slots by the whole tape, with the sums over all parameters that the last one by tiles had. */
static int whole_step(whole *t, double *p, const double *g, double *const *slot, uint32_t n_slots, double lr,
                      double step, err *e)
{
    ab_ctx *c = t->c;
    size_t bytes = (size_t)node_count(tape_at(c, t->p)) * sizeof *p;
    put(c, t->p, p), put(c, t->g, g), put(c, t->lr, &lr), put(c, t->step, &step);
    for (uint32_t i = 0; i < n_slots; i++) put(c, t->slot[i], slot[i]);
    if (tape_run(c, &(run_options){.from = PHASE_CONST})) return fail(e, "%s", c->error.text);
    memcpy(p, tape_at(c, t->new_p)->data, bytes);
    for (uint32_t i = 0; i < n_slots; i++) memcpy(slot[i], tape_at(c, t->new_slot[i])->data, bytes);
    return 0;
}

static void compare_vectors(const double *tiled, const double *all, size_t n, const char *what, int64_t step,
                            check_result *r)
{
    for (size_t i = 0; i < n; i++)
        if (check_beyond(r, fabs(tiled[i] - all[i]) / fmax(1, fabs(all[i]))))
            check_fail(r, "after step %lld %s at element %zu is %.12g by tiles and %.12g by the whole vector",
                       (long long)step, what, i, tiled[i], all[i]);
}

void check_tiles(const plugin *p, check_result *r)
{
    if (!is_elementwise(p)) {
        check_none(r, "it is called per parameter");
        return;
    }
    if (p->iface.optimizer.refresh) {
        check_none(r, "it has refresh, which whole vectors do not run");
        return;
    }
    bench b;
    whole t = {0};
    err e = {0};
    uint32_t n_slots = p->iface.optimizer.n_slots;
    double *mine = xcalloc(MANY, sizeof *mine), *slot[MOST_SLOTS] = {0};
    for (uint32_t i = 0; i < n_slots; i++) slot[i] = xcalloc(MANY, sizeof *slot[i]);
    if (!bench_open(&b, p, MANY, &e) && !whole_open(&t, &b, &e)) {
        memcpy(mine, values(&b), MANY * sizeof *mine);
        for (int64_t step = 1; step <= STEPS && !e.text[0]; step++) {
            some_gradient(gradient(&b), MANY, step);
            if (optim_update(b.o, b.grad, 1, 0.01, step, NULL, &e)) break;
            if (whole_step(&t, mine, gradient(&b), slot, n_slots, 0.01, (double)step, &e)) break;
            compare_vectors(values(&b), mine, MANY, "p", step, r);
            for (uint32_t i = 0; i < n_slots; i++)
                compare_vectors(b.m.params.slot[i], slot[i], MANY, "a slot", step, r);
        }
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
    tape_free(t.c);
    bench_close(&b);
    free(mine);
    for (int i = 0; i < MOST_SLOTS; i++) free(slot[i]);
}

/* ---- element by element ---- */

void check_elementwise(const plugin *p, check_result *r)
{
    if (!is_elementwise(p)) {
        check_none(r, "it is called per parameter");
        return;
    }
    bench b;
    err e = {0};
    if (!bench_open(&b, p, MANY, &e)) {
        /* equal values and gradients in some places, others around them: those places must stay equal */
        for (size_t i = 0; i < MANY; i += 97) values(&b)[i] = 0.25;
        for (int64_t step = 1; step <= STEPS && !e.text[0]; step++) {
            some_gradient(gradient(&b), MANY, step);
            for (size_t i = 0; i < MANY; i += 97) gradient(&b)[i] = 0.5 / (double)step;
            optim_update(b.o, b.grad, 1, 0.01, step, NULL, &e);
        }
        for (size_t i = 0; i < MANY && !e.text[0]; i += 97)
            if (check_beyond(r, fabs(values(&b)[i] - values(&b)[0])))
                check_fail(r,
                           "elements with equal value and gradient become %.12g at index 0 and %.12g at "
                           "index %zu: the update mixes elements or "
                           "depends on the index, but AB_ELEMENTWISE promises that it does not",
                           values(&b)[0], values(&b)[i], i);
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
    bench_close(&b);
}

/* ---- each parameter by itself ---- */

/* A few steps, or as many as show the second refresh at work. */
static int64_t last_step(const bench *b)
{
    enum { MOST = 200 };
    const ab_optimizer_plugin *rule = &b->m.optimizer->iface.optimizer;
    int64_t n = rule->period ? rule->period(b->m.optimizer_cfg) + 2 : 0;
    return n < STEPS ? STEPS : n < MOST ? n : MOST;
}

/* The same parameter alone in a model; its values go the same way. */
static void compare_alone(const bench *all, const plugin *p, size_t k, const double *first, check_result *r)
{
    const param *q = &all->m.params.p[k];
    param one = shapes[k];
    bench b;
    err e = {0};
    int64_t last = last_step(all);
    if (!bench_open_with(&b, p, &one, 1, F64, NULL, &e)) {
        memcpy(values(&b), first + q->at, q->count * sizeof *first);
        for (int64_t step = 1; step <= last && !e.text[0]; step++) {
            double *g = xcalloc(all->n, sizeof *g);
            some_gradient(g, all->n, step);
            memcpy(b.grad, g + q->at, q->count * sizeof *g);
            optim_update(b.o, b.grad, 1, 0.01, step, NULL, &e);
            free(g);
        }
        for (size_t i = 0; i < q->count && !e.text[0]; i++)
            if (check_beyond(r, fabs(values(&b)[i] - values(all)[q->at + i])))
                check_fail(r,
                           "after step %d element %zu of '%s' is %.17g among other parameters and %.17g "
                           "alone: state is carried from one parameter to the next",
                           (int)last, i, q->name, values(all)[q->at + i], values(&b)[i]);
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
    bench_close(&b);
}

void check_apart(const plugin *p, check_result *r)
{
    bench b;
    err e = {0};
    if (is_elementwise(p)) {
        check_none(r, "it works element by element");
        return;
    }
    if (p->iface.optimizer.measure) {
        check_none(r, "it measures all parameters");
        return;
    }
    double *first = NULL;
    if (!bench_open(&b, p, FEW, &e)) {
        memcpy(first = xmalloc(b.n * sizeof *first), values(&b), b.n * sizeof *first);
        for (int64_t step = 1; step <= last_step(&b) && !e.text[0]; step++) {
            some_gradient(gradient(&b), b.n, step);
            optim_update(b.o, b.grad, 1, 0.01, step, NULL, &e);
        }
        for (size_t k = 0; k < LENGTH(shapes) && !e.text[0]; k++) compare_alone(&b, p, k, first, r);
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
    check_note(r, "%zu parameters of different kinds and shapes", LENGTH(shapes));
    free(first);
    bench_close(&b);
}

/* ---- nothing to go by ---- */

/* Values and gradients of 0, as biases and words that no batch had have them, in fp32: numbers stay numbers. */
void check_zero(const plugin *p, check_result *r)
{
    bench b;
    err e = {0};
    param vector = {.name = "w", .dim = {1, 1, 1, FEW}, .kind = AB_BIAS};
    bool one = is_elementwise(p);
    if (!bench_open_with(&b, p, one ? &vector : shapes, one ? 1 : LENGTH(shapes), F32, NULL, &e)) {
        memset(b.m.params.value, 0, params_bytes(&b.m.params, 0, F32));
        for (int64_t step = 1; step <= STEPS && !e.text[0]; step++) optim_update(b.o, b.grad, 1, 0.01, step, NULL, &e);
        for (size_t i = 0; i < b.n && !e.text[0]; i++)
            if (!isfinite(check_number(b.m.params.value, F32, i)))
                check_fail(r, "a value of 0 with a gradient of 0 becomes %g", check_number(b.m.params.value, F32, i));
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
    bench_close(&b);
}

/* ---- it minimises ---- */

static double quadratic(const bench *b, double *grad)
{
    double sum = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!is_learned(b, i)) continue;
        double curvature = 1.25 + 0.75 * check_hashed(81, i), away = values(b)[i] - check_hashed(82, i);
        grad[i] = curvature * away;
        sum += curvature * away * away / 2;
    }
    return sum;
}

/* What is left of the loss after 400 steps with a rate that falls to zero. */
static double left_over(const plugin *p, double lr, err *e)
{
    enum { UPDATES = 400 };
    bench b;
    double first = NAN, last = NAN;
    if (!bench_open(&b, p, FEW, e)) {
        first = quadratic(&b, gradient(&b));
        for (int64_t step = 1; step <= UPDATES && !e->text[0]; step++) {
            optim_update(b.o, b.grad, 1, lr * (1 - (double)(step - 1) / UPDATES), step, NULL, e);
            last = quadratic(&b, gradient(&b));
        }
    }
    bench_close(&b);
    return last / first;
}

void check_minimises(const plugin *p, check_result *r)
{
    static const double rates[] = {1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001};
    double best = INFINITY, rate = 0;
    err e = {0};
    for (size_t i = 0; i < LENGTH(rates) && !e.text[0]; i++) {
        double left = left_over(p, rates[i], &e);
        if (left < best) best = left, rate = rates[i];
    }
    if (e.text[0])
        check_fail(r, "%s", e.text);
    else if (check_beyond(r, best))
        check_fail(r,
                   "after 400 updates %.3g of the loss of a well-conditioned quadratic is left at the best "
                   "of seven learning rates (%g)",
                   best, rate);
    else
        check_note(r, "left of a quadratic's loss after 400 updates, learning rate %g", rate);
}

/* ---- a restart ---- */

static void steps_from(bench *b, int64_t first, int64_t last, err *e)
{
    for (int64_t step = first; step <= last && !e->text[0]; step++) {
        some_gradient(gradient(b), b->n, step);
        optim_update(b->o, b->grad, 1, 0.01, step, NULL, e);
    }
}

void check_resumes(const plugin *p, check_result *r)
{
    bench through, again;
    err e = {0};
    uint32_t n_slots = p->iface.optimizer.n_slots;
    int bad = bench_open(&through, p, FEW, &e);
    bad |= bench_open(&again, p, FEW, &e);
    if (!bad) {
        int64_t cut = last_step(&through);
        steps_from(&through, 1, cut, &e);
        memcpy(values(&again), values(&through), params_bytes(&through.m.params, 0, F64));
        for (uint32_t i = 0; i < n_slots; i++)
            memcpy(again.m.params.slot[i], through.m.params.slot[i], params_bytes(&through.m.params, i + 1, F64));
        steps_from(&through, cut + 1, 2 * cut, &e);
        steps_from(&again, cut + 1, 2 * cut, &e);
        for (size_t i = 0; i < through.n && !e.text[0]; i++)
            if (check_beyond(r, fabs(values(&through)[i] - values(&again)[i])))
                check_fail(r,
                           "from the same parameters and slots after step %d, step %d gives %.17g and %.17g: "
                           "there is state outside the slots, so a "
                           "resumed run would differ",
                           (int)cut, (int)(2 * cut), values(&through)[i], values(&again)[i]);
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
    bench_close(&through);
    bench_close(&again);
}

/* ---- thousands of calls ---- */

static uint64_t traced(const optimizer *o, bool *kernels)
{
    uint64_t h = 0;
    const ab_ctx *c;
    for (size_t i = 0; (c = optim_tape(o, i)); i++) {
        uint64_t *each = xcalloc((size_t)c->n + 1, sizeof *each);
        check_hash_tape(c, each, c->n);
        each[0] = h;
        h = hash64(each, (size_t)c->n * sizeof *each);
        for (int32_t k = 1; k < c->n; k++) *kernels |= c->v[k].op == OP_CALL;
        free(each);
    }
    return h;
}

static void check_kept(size_t settled, size_t used, int n, const char *what, check_result *r)
{
    if (used > settled && used - settled > (size_t)n * KEPT)
        check_fail(r, "%d %s keep %.3g bytes each: a plugin frees what it allocates, and needs to allocate nothing", n,
                   what, (double)(used - settled) / n);
}

/* The same graph from thousands of calls, on as many days and in other environments. */
static void trace_often(bench *b, bool *kernels, check_result *r)
{
    enum { DAY = 86400 };
    uint64_t first = 0;
    size_t settled = 0;
    err e = {0};
    int calls = 0, opened = 0;
    for (; calls < OFTEN && r->outcome != CHECK_FAIL; opened++) {
        check_disguise_as((int64_t)opened * (DAY + 3671), opened % 4);
        optim_close(b->o);
        if (!(b->o = optim_open(&b->m, &e))) {
            check_fail(r, "%s", e.text);
            break;
        }
        uint64_t now = traced(b->o, kernels);
        if (opened && now != first)
            check_fail(
                r,
                "after %d calls update (or refresh, measure) builds another graph than at first: it may depend on "
                "arguments and settings only: is there an uninitialised array, a counter, the time, the environment?",
                calls);
        if (!opened) first = now;
        for (size_t i = 0; optim_tape(b->o, i); i++) calls++;
        if (opened == SETTLED) settled = check_memory_in_use();
    }
    check_disguise_as(0, 0);
    if (r->outcome != CHECK_FAIL && opened > 2 * SETTLED)
        check_kept(settled, check_memory_in_use(), opened - SETTLED, "traces of all parameters", r);
}

/* Thousands of updates, then the first ones again, from the first values: the same bits. Only a plugin's kernels can
 * keep something between updates, but in slots. */
static void update_often(bench *b, check_result *r)
{
    size_t bytes = params_bytes(&b->m.params, 0, F64), settled = 0;
    double *first = xmalloc(bytes), *after = xmalloc(bytes);
    err e = {0};
    memcpy(first, values(b), bytes);
    steps_from(b, 1, STEPS, &e);
    memcpy(after, values(b), bytes);
    steps_from(b, STEPS + 1, SETTLED, &e);
    settled = check_memory_in_use();
    steps_from(b, SETTLED + 1, OFTEN, &e);
    check_kept(settled, check_memory_in_use(), OFTEN - SETTLED, "updates", r);
    memcpy(values(b), first, bytes);
    for (uint32_t i = 0; i < b->m.params.n_slots; i++)
        memset(b->m.params.slot[i], 0, params_bytes(&b->m.params, i + 1, F64));
    steps_from(b, 1, STEPS, &e);
    if (e.text[0])
        check_fail(r, "%s", e.text);
    else if (memcmp(after, values(b), bytes))
        check_fail(
            r,
            "after %d updates the first %d give other bits than before, from the same values: a kernel keeps state "
            "between calls, or depends on time or addresses",
            (int)OFTEN, (int)STEPS);
    free(first);
    free(after);
}

void check_updates(const plugin *p, check_result *r)
{
    bench b;
    err e = {0};
    bool kernels = false;
    check_disguise(p);
    if (bench_open(&b, p, FEW, &e)) {
        check_fail(r, "%s", e.text);
    } else {
        trace_often(&b, &kernels, r);
        if (kernels && r->outcome != CHECK_FAIL) update_often(&b, r);
    }
    bench_close(&b);
    check_note(r, "%d calls%s", (int)OFTEN, kernels ? ", and as many updates by its kernels" : "");
}
