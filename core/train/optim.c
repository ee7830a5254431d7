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
    const ab_optim *rule = &m->optimizer->iface.optim;
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
    rule->update(c, m->optimizer_cfg, o->p, t_binary(c, OP_MUL, o->g, o->scale), o->slot, o->lr, o->step);
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
    node *v = tape_at(c, x);
    if (!v->data) return;
    if (v->type == F64)
        *(double *)v->data = value;
    else
        *(float *)v->data = (float)value;
}

int optim_update(optimizer *o, const void *grad, double scale, double lr, int64_t step, double *norm, err *e)
{
    model *m = o->m;
    ab_ctx *c = o->tape;
    double length = 0;
    if (m->cfg.clip_norm > 0 || norm)
        length = scale * sqrt(m->backend->sum_squares(grad, (int64_t)m->params.total, m->params.type));
    if (m->cfg.clip_norm > 0 && length > m->cfg.clip_norm) scale *= m->cfg.clip_norm / length;
    if (norm) *norm = length;
    set(c, o->lr, lr);
    set(c, o->step, (double)step);
    set(c, o->scale, scale);
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
