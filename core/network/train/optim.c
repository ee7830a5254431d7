/* optim.c - runs an optimizer plugin's update: an elementwise rule in tiles of the flat vectors of all parameters,
 * other rules parameter by parameter on tapes of their shapes. Each parameter group has tapes with its settings. */
#include "network/train/optim.h"
#include "network/model/groups.h"
#include <math.h>
#include <stdlib.h>

enum { TILE = 4096 }; /* elements per tile; a dozen tiles in fp32 fit into the second-level cache */

/* Stages of an update, in this order. Each stage runs for all parameters before the next one. */
typedef enum { REFRESH, MEASURE, SHIFT, UPDATE, DEEDS } deed;
static const char *const deed_names[DEEDS] = {"refresh", "measure", "shift", "update"};

typedef struct {
    ab_ctx *tape;
    const model *m;
    deed what;
    int group;
    int64_t period;     /* number of steps between runs of REFRESH */
    size_t from, count; /* with tiles: first element in the flat vectors, and number of elements */
    int32_t p, g, second_id, slot[MOST_SLOTS]; /* with tiles: nodes of the inputs */
    const param *whole;                        /* this tape's only parameter; NULL: the tape works on tiles */
    char *scalars; /* step, scale, sums, learning rates of the groups; in the backend's memory */
    const void *grad, *second;
} update;
struct optimizer {
    model *m;
    update *at;
    size_t n;
    workspace space; /* memory of the running tape */
    char *scalars;
    char *grad; /* params.grad, from which tapes of whole parameters read gradients */
    int n_sums; /* figures that the plugin's `measure` returns per parameter */
    /* for a rule with shift: the second gradient, and p and params.grad while it is computed */
    char *second, *before, *first;
    int (*again)(void *self, err *e);
    void *self;
};

/* ---- tapes ---- */

enum { STEP, SCALE, SECOND_SCALE, SUMS, RATES = SUMS + AB_MEASURED };
static size_t width(const model *m) { return dtype_size(m->params.type); }

/* Returns the address of an update's input by name. */
static void *find(void *self, const char *name, size_t bytes)
{
    (void)bytes;
    const update *u = self;
    const params *s = &u->m->params;
    size_t size = width(u->m);
    if (same(name, "step")) return u->scalars + STEP * size;
    if (same(name, "scale")) return u->scalars + SCALE * size;
    if (same(name, "second_scale")) return u->scalars + SECOND_SCALE * size;
    if (same(name, "lr")) return u->scalars + (size_t)(RATES + u->group) * size;
    if (has_prefix(name, "measured")) return u->scalars + (size_t)(SUMS + name[8] - '0') * size;
    if (same(name, "p")) return (char *)s->value + u->whole->at * size;
    if (same(name, "g")) return (char *)u->grad + u->whole->at * size;
    if (same(name, "second")) return (char *)u->second + u->whole->at * size;
    int k = name[4] - '0'; /* slot0 .. */
    return (char *)s->slot[k] + u->whole->slot[k].at * size;
}

static ab_t scalar(ab_ctx *c, const char *name, dtype type)
{
    ab_t x = t_state(c, name, type, 1, 1, 1, 1);
    tape_at(c, x)->phase = PHASE_SETUP; /* so values computed from scalars alone are computed once for all tiles */
    return x;
}

static ab_t tile(ab_ctx *c, const char *name, dtype type) { return t_input(c, name, type, PHASE_STEP, 1, 1, 1, TILE); }

static ab_t all_of(ab_ctx *c, const char *name, dtype type, const int64_t d[4])
{
    return d[0] * d[1] * d[2] * d[3] > 0 ? t_state(c, name, type, d[0], d[1], d[2], d[3]) : (ab_t){0};
}

/* Moves the assignments to p and slots to the end, so that all other nodes read the old values. */
static void assign_last(ab_ctx *c)
{
    int32_t n = c->n;
    for (int32_t i = 1; i < n; i++) {
        if (c->v[i].op != OP_ASSIGN || !c->v[i].live) continue;
        c->v[i].live = false;
        node v = c->v[i];
        ab_t in[] = {{v.i.ASSIGN.to}, {v.i.ASSIGN.value}},
             y = tape_push(c, OP_ASSIGN, v.type, v.dim, LENGTH(in), in, NULL);
        tape_at(c, y)->live = true;
    }
}

static void perform(optimizer *o, update *u, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)
{
    static const sums_use uses[DEEDS] = {
        [REFRESH] = NO_SUMS, [MEASURE] = SUMS_MADE, [SHIFT] = SUMS_READ, [UPDATE] = SUMS_READ};
    const plugin *by = o->m->optimizer;
    const ab_optimizer_plugin *rule = &by->iface.optimizer;
    const void *cfg = o->m->groups[u->group].cfg;
    ab_ctx *c = u->tape;
    c->sums = rule->measure ? uses[u->what] : NO_SUMS;
    c->n_sums = o->n_sums;
    if (u->what == UPDATE) rule->update(c, cfg, p, g, slot, lr, step);
    if (u->what == REFRESH) rule->refresh(c, cfg, p, g, slot, lr, step);
    if (u->what == SHIFT) rule->shift(c, cfg, p, g, slot, lr, step);
    if (u->what != MEASURE) return;
    char shape[64];
    ab_t sums = tape_given(c, rule->measure(c, cfg, p, g, slot, lr, step), "optimizer", by->desc.name);
    if (!sums.id) return;
    const int64_t *d = tape_at(c, sums)->dim;
    if (d[0] * d[1] * d[2] != 1 || d[3] < 1 || d[3] > AB_MEASURED || (o->n_sums && d[3] != o->n_sums))
        tape_fail(c, "measure returned %s, expected the same [1,n] for every parameter, n from 1 to %d",
                  shape_text(d, shape), o->n_sums ? o->n_sums : AB_MEASURED);
    else
        o->n_sums = (int)d[3];
    t_keep(c, t_reshape(c, t_add_scalar(c, sums, 0), (int64_t[4]){1, 1, 1, d[3]}), "sums");
}

static int trace(optimizer *o, update *u, err *e)
{
    const ab_optimizer_plugin *rule = &o->m->optimizer->iface.optimizer;
    dtype type = o->m->params.type;
    ab_ctx *c = u->tape = tape_new(&o->m->params, o->m->backend, type, false);
    ab_t p, g, slot[MOST_SLOTS] = {{0}};
    ab_parameter of = {0};
    if (u->whole) {
        of = model_parameter(u->whole);
        c->updated = &of;
        c->shared = &o->space;
        p = all_of(c, "p", type, of.dim), g = all_of(c, "g", type, of.dim);
    } else {
        p = tile(c, "p", type), g = tile(c, "g", type);
    }
    for (uint32_t i = 0; i < rule->n_slots; i++) {
        char *name = arena_printf(&c->memory, "slot%u", i);
        slot[i] = u->whole ? all_of(c, name, type, u->whole->slot[i].dim) : tile(c, name, type);
        u->slot[i] = slot[i].id;
    }
    u->p = p.id, u->g = g.id;
    ab_t lr = scalar(c, "lr", type), step = scalar(c, "step", type);
    g = t_binary(c, OP_MUL, g, scalar(c, "scale", type));
    if (u->what == UPDATE && rule->shift) {
        ab_t second = u->whole ? all_of(c, "second", type, of.dim) : tile(c, "second", type);
        u->second_id = second.id;
        c->second = t_binary(c, OP_MUL, second, scalar(c, "second_scale", type));
    }
    c->hook = AB_IN_UPDATE;
    perform(o, u, p, g, slot, lr, step);
    c->hook = AB_IN_HOST;
    c->updated = NULL;
    if (u->whole) assign_last(c);
    if (!tape_plan(c, find, u)) return 0;
    const char *name = o->m->optimizer->desc.name, *what = u->what == UPDATE ? "" : deed_names[u->what];
    if (u->whole)
        return fail(e, "optimizer '%s', %s%sparameter '%s': %s", name, what, *what ? " of " : "", u->whole->name,
                    c->error.text);
    return fail(e, "optimizer '%s'%s%s: %s", name, *what ? ", " : "", what, c->error.text);
}

static void add(optimizer *o, update u)
{
    u.m = o->m, u.scalars = o->scalars, u.grad = o->grad, u.second = o->second;
    o->at[o->n++] = u;
}

static size_t behind(const param *p) { return p->at + (p->count + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN; }

/* Lists a stage's updates. A group's parameters are contiguous. Sums need whole parameters, without alignment gaps. */
static void list_updates(optimizer *o, deed what)
{
    const model *m = o->m;
    bool tiles = what != MEASURE && m->optimizer->iface.optimizer.flags & AB_ELEMENTWISE;
    for (size_t i = 0; i < m->params.n && !tiles; i++)
        if (m->params.p[i].count && !m->params.p[i].buffer)
            add(o, (update){.what = what, .whole = &m->params.p[i], .group = m->params.p[i].group});
    for (int g = 0; g < m->n_groups && tiles; g++) {
        update u = {.what = what, .from = m->params.total, .group = g};
        size_t end = 0;
        for (size_t i = 0; i < m->params.n; i++) {
            const param *p = &m->params.p[i];
            if (p->group != g || p->buffer) continue;
            if (p->at < u.from) u.from = p->at;
            if (behind(p) > end) end = behind(p);
        }
        u.count = end > u.from ? end - u.from : 0;
        if (u.count) add(o, u);
    }
}

static int trace_all(optimizer *o, err *e)
{
    const void *space;
    do { /* plans again if the workspace moved, because earlier tapes have addresses in the old workspace */
        space = o->space.data;
        for (size_t i = 0; i < o->n; i++) {
            tape_free(o->at[i].tape);
            o->at[i].tape = NULL;
        }
        for (size_t i = 0; i < o->n; i++)
            if (trace(o, &o->at[i], e)) return -1;
    } while (space != o->space.data);
    return 0;
}

static bool does(const optimizer *o, deed d)
{
    const ab_optimizer_plugin *rule = &o->m->optimizer->iface.optimizer;
    return d == UPDATE || (d == REFRESH && rule->refresh) || (d == MEASURE && rule->measure) ||
           (d == SHIFT && rule->shift);
}

static int find_periods(optimizer *o, err *e)
{
    const plugin *by = o->m->optimizer;
    for (size_t i = 0; i < o->n; i++) {
        if (o->at[i].what != REFRESH) continue;
        int64_t n = o->at[i].period = by->iface.optimizer.period(o->m->groups[o->at[i].group].cfg);
        if (n < 1)
            return fail(e, "optimizer '%s': its period is %lld, expected 1 or more updates", by->desc.name,
                        (long long)n);
    }
    return 0;
}

optimizer *optim_open(model *m, err *e)
{
    optimizer *o = xcalloc(1, sizeof *o);
    o->m = m;
    o->scalars = m->backend->alloc((size_t)(RATES + m->n_groups) * width(m));
    o->grad = m->params.grad;
    if (does(o, SHIFT)) {
        o->second = m->backend->alloc(m->params.learned * width(m));
        o->before = m->backend->alloc(m->params.learned * width(m));
        o->first = m->backend->alloc(m->params.total * width(m));
    }
    o->at = xcalloc(DEEDS * (m->params.n + MOST_GROUPS), sizeof *o->at);
    for (deed d = 0; d < DEEDS; d++)
        if (does(o, d)) list_updates(o, d);
    if (!find_periods(o, e) && !trace_all(o, e)) return o;
    optim_close(o);
    return NULL;
}

void optim_close(optimizer *o)
{
    if (!o) return;
    for (size_t i = 0; i < o->n; i++) tape_free(o->at[i].tape);
    workspace_free(&o->space, o->m->backend);
    char *const held[] = {o->scalars, o->second, o->before, o->first};
    for (size_t i = 0; i < LENGTH(held); i++)
        if (held[i]) o->m->backend->release(held[i]);
    free(o->at);
    free(o);
}

const void *optim_sums(const optimizer *o) { return o->scalars + SUMS * width(o->m); }

void optim_again(optimizer *o, int (*f)(void *self, err *e), void *self) { o->again = f, o->self = self; }

ab_ctx *optim_tape(const optimizer *o, size_t i) { return i < o->n ? o->at[i].tape : NULL; }

/* ---- one update ---- */

static void set(const optimizer *o, int which, double value)
{
    float narrow = (float)value;
    size_t size = width(o->m);
    backend_write(o->m->backend, o->scalars + (size_t)which * size,
                  size == sizeof value ? (void *)&value : (void *)&narrow, size);
}

/* Sets the factor on a gradient, clipped to clip_norm. A device computes this factor, so the host need not wait. */
static void set_scale(optimizer *o, int which, const void *grad, double scale, double *norm)
{
    const model *m = o->m;
    const backend *b = m->backend;
    int64_t n = (int64_t)m->params.learned;
    double clip = m->cfg.clip_norm, length = 0;
    if (norm || (clip > 0 && !b->clip)) length = scale * sqrt(b->sum_squares(grad, n, m->params.type));
    if (norm) *norm = length;
    if (clip > 0 && b->clip)
        b->clip((float *)(void *)(o->scalars + (size_t)which * width(m)), grad, n, scale, clip);
    else
        set(o, which, clip > 0 && length > clip ? scale * clip / length : scale);
}

static void add_vector(tiling *t, int32_t id, const void *data, size_t from)
{
    t->vector[t->n_vectors].id = id;
    t->vector[t->n_vectors++].data = (char *)data + from * dtype_size(t->type);
}

static int run_tiles(const update *u, const void *grad)
{
    const params *s = &u->m->params;
    run_options r = {0};
    tiling t = {.count = (int64_t)u->count, .tile = TILE, .type = s->type};
    add_vector(&t, u->p, s->value, u->from);
    add_vector(&t, u->g, grad, u->from);
    if (u->second_id) add_vector(&t, u->second_id, u->second, u->from);
    for (uint32_t i = 0; i < u->m->optimizer->iface.optimizer.n_slots; i++)
        add_vector(&t, u->slot[i], s->slot[i], u->from);
    bool with_tiles = on_device(u->m->backend); /* a device runs phase SETUP together with the tiles */
    return tape_run_phase(u->tape, &r, PHASE_CONST) || (!with_tiles && tape_run_phase(u->tape, &r, PHASE_SETUP)) ||
           u->m->backend->run_tiled(u->tape, &t, &r);
}

static int run(const optimizer *o, deed what, const void *grad, int64_t step, err *e)
{
    const model *m = o->m;
    for (size_t i = 0; i < o->n; i++) {
        const update *u = &o->at[i];
        if (u->what != what || (what == REFRESH && (step - 1) % u->period)) continue;
        if (u->whole ? tape_run(u->tape, &(run_options){.from = PHASE_CONST}) : run_tiles(u, grad))
            return fail(e, "optimizer '%s': %s", m->optimizer->desc.name, u->tape->error.text);
        if (what == MEASURE)
            m->backend->accumulate(o->scalars + SUMS * width(m), tape_at(u->tape, tape_find(u->tape, "sums"))->data,
                                   o->n_sums, m->params.type);
    }
    return 0;
}

/* Computes o->second at the parameters that `shift` assigns; parameters and gradient are then as before. */
static int find_second(optimizer *o, const void *grad, double scale, int64_t step, err *e)
{
    params *s = &o->m->params;
    const backend *b = o->m->backend;
    size_t bytes = s->learned * width(o->m), all = s->total * width(o->m);
    backend_move(b, o->before, s->value, bytes);
    if (run(o, SHIFT, grad, step, e)) return -1;
    s->version++;
    backend_move(b, o->first, o->grad, all);
    if (o->again && o->again(o->self, e)) return -1;
    backend_move(b, o->second, o->again ? o->grad : grad, bytes);
    backend_move(b, o->grad, o->first, all);
    backend_move(b, s->value, o->before, bytes);
    s->version++;
    set_scale(o, SECOND_SCALE, o->second, scale, NULL);
    return 0;
}

int optim_update(optimizer *o, const void *grad, double scale, double lr, int64_t step, double *norm, err *e)
{
    model *m = o->m;
    set_scale(o, SCALE, grad, scale, norm);
    set(o, STEP, (double)step);
    for (int g = 0; g < m->n_groups; g++) set(o, RATES + g, lr * m->groups[g].lr);
    bool tiles = m->optimizer->iface.optimizer.flags & AB_ELEMENTWISE && !does(o, MEASURE);
    if (!tiles && grad != o->grad) backend_move(m->backend, o->grad, grad, m->params.learned * width(m));
    backend_zero(m->backend, o->scalars + SUMS * width(m), AB_MEASURED * width(m));
    if (run(o, REFRESH, grad, step, e) || run(o, MEASURE, grad, step, e) ||
        (does(o, SHIFT) && find_second(o, grad, scale, step, e)) || run(o, UPDATE, grad, step, e))
        return -1;
    m->params.version++;
    return 0;
}

/* ---- parameters for evaluation ---- */

int optim_exchange(model *m, err *e)
{
    uint32_t which = m->optimizer->iface.optimizer.evaluated;
    if (!which) return 0;
    size_t bytes = m->params.learned * width(m);
    char *value = params_host(&m->params, 0, e), *slot = value ? params_host(&m->params, which, e) : NULL;
    for (size_t i = 0; slot && i < bytes; i++) {
        char x = value[i];
        value[i] = slot[i], slot[i] = x;
    }
    if (slot) params_host_done(&m->params, which, slot, true);
    if (value) params_host_done(&m->params, 0, value, slot != NULL);
    m->params.version++;
    return slot ? 0 : -1;
}
