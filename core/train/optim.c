/* optim.c - runs an optimizer plugin's update over the flat vectors of all parameters. */
#include "train/optim.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 4096 }; /* elements; a dozen tiles of fp32 fit into the first-level cache's neighbour */

struct optimizer {
    model *m;
    ab_ctx *tape;
    ab_t p, g, slot[4], lr, step, scale;
    uint32_t n_slots;
};

static ab_t scalar(ab_ctx *c, const char *name, dtype type)
{
    return t_input(c, name, type, PHASE_SETUP, 1, 1, 1, 1);
}

static ab_t tile(ab_ctx *c, const char *name, dtype type)
{
    return t_input(c, name, type, PHASE_STEP, 1, 1, 1, TILE);
}

optimizer *optim_open(model *m, err *e)
{
    const ab_optimizer_plugin *rule = &m->optimizer->iface.optimizer;
    if (!(rule->flags & AB_ELEMENTWISE)) {
        fail(e,
             "optimizer '%s' is not elementwise (AB_ELEMENTWISE): this host runs updates over one flat "
             "vector only",
             m->optimizer->desc.name);
        return NULL;
    }
    optimizer *o = xcalloc(1, sizeof *o);
    dtype type = m->params.type;
    ab_ctx *c = o->tape = tape_new(&m->params, m->backend, type, false);
    o->m = m;
    o->n_slots = rule->n_slots;
    o->p = tile(c, "p", type);
    o->g = tile(c, "g", type);
    for (uint32_t i = 0; i < rule->n_slots; i++)
        o->slot[i] = tile(c, arena_printf(&c->memory, "slot%u", i), type);
    o->lr = scalar(c, "lr", type);
    o->step = scalar(c, "step", type);
    o->scale = scalar(c, "scale", type);
    ab_t g = t_binary(c, OP_MUL, o->g, o->scale);
    c->hook = AB_IN_UPDATE;
    rule->update(c, m->optimizer_cfg, o->p, g, o->slot, o->lr, o->step);
    c->hook = AB_IN_HOST;
    if (tape_plan(c, NULL, NULL)) {
        fail(e, "optimizer '%s': %s", m->optimizer->desc.name, c->error.text);
        optim_close(o);
        return NULL;
    }
    return o;
}

void optim_close(optimizer *o)
{
    if (!o) return;
    tape_free(o->tape);
    free(o);
}

static void set(ab_ctx *c, ab_t x, double value)
{
    float value32 = (float)value;
    if (tape_at(c, x)->type == F64)
        tape_write(c, x, &value, sizeof value);
    else
        tape_write(c, x, &value32, sizeof value32);
}

/* The factor on the gradient, clipped to clip_norm. A device works it out by itself, so that nobody waits for it. */
static void set_scale(optimizer *o, const void *grad, double scale, double *norm)
{
    const model *m = o->m;
    const backend *b = m->backend;
    int64_t n = (int64_t)m->params.total;
    double clip = m->cfg.clip_norm, length = 0;
    if (norm || (clip > 0 && !b->clip)) length = scale * sqrt(b->sum_squares(grad, n, m->params.type));
    if (norm) *norm = length;
    float *at = tape_at(o->tape, o->scale)->data;
    if (clip > 0 && b->clip)
        b->clip(at, grad, n, scale, clip);
    else
        set(o->tape, o->scale, clip > 0 && length > clip ? scale * clip / length : scale);
}

int optim_update(optimizer *o, const void *grad, double scale, double lr, int64_t step, double *norm, err *e)
{
    model *m = o->m;
    ab_ctx *c = o->tape;
    set_scale(o, grad, scale, norm);
    set(c, o->lr, lr);
    set(c, o->step, (double)step);
    run_options r = {0};
    tiling t = {.count = (int64_t)m->params.total, .tile = TILE, .type = m->params.type};
    t.vector[t.n_vectors].id = o->p.id, t.vector[t.n_vectors++].data = m->params.value;
    t.vector[t.n_vectors].id = o->g.id, t.vector[t.n_vectors++].data = (void *)grad;
    for (uint32_t i = 0; i < o->n_slots; i++)
        t.vector[t.n_vectors].id = o->slot[i].id, t.vector[t.n_vectors++].data = m->params.slot[i];
    if (tape_run_phase(c, &r, PHASE_CONST) || tape_run_phase(c, &r, PHASE_SETUP) ||
        m->backend->run_tiled(c, &t, &r))
        return fail(e, "optimizer '%s': %s", m->optimizer->desc.name, c->error.text);
    m->params.version++;
    return 0;
}
