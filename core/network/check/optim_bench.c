/* optim_bench.c - parameters and gradients for the checks of an optimizer. */
#include "network/check/optim_bench.h"
#include "network/model/groups.h"
#include <stdlib.h>
#include <string.h>

const param optim_shapes[OPTIM_SHAPES] = {
    {.name = "tall.w", .dim = {1, 1, 9, 4}, .kind = AB_WEIGHT, .scale = 1},
    {.name = "qkv.w", .dim = {1, 1, 4, 10}, .kind = AB_WEIGHT, .scale = 1, .n_parts = 3, .part = {3, 3, 4}},
    {.name = "stack", .dim = {1, 2, 3, 4}, .kind = AB_WEIGHT, .scale = 1},
    {.name = "b", .dim = {1, 1, 1, 5}, .kind = AB_BIAS, .scale = 1},
    {.name = "one", .dim = {1, 1, 1, 1}, .kind = AB_BIAS, .scale = 1},
    {.name = "ln.g", .dim = {1, 1, 1, 5}, .kind = AB_GAIN, .fill = 1},
    {.name = "embed", .dim = {1, 1, 7, 4}, .kind = AB_EMBEDDING, .scale = -1},
    {.name = "rel_k", .dim = {1, 1, 5, 2}, .kind = AB_TABLE, .scale = 1},
};

bool optim_elementwise(const plugin *p) { return p->iface.optimizer.flags & AB_ELEMENTWISE; }

static void add_parameter(ab_ctx *c, const param *p)
{
    ab_t x = t_param(c, p->name, p->dim, p->scale, p->fill);
    param *made = &c->params->p[tape_at(c, x)->param];
    made->kind = p->kind, made->n_parts = p->n_parts;
    memcpy(made->part, p->part, sizeof made->part);
}

int optim_bench_open_with(optim_bench *b, const plugin *p, const param *list, size_t n, dtype type, void *cfg, err *e)
{
    *b = (optim_bench){0};
    model *m = &b->m;
    m->optimizer = p;
    m->compute = type;
    m->backend = &cpu_backend;
    m->cfg.parameter_groups = "";
    if (!cfg) check_add_settings(&m->set, &m->memory);
    if (!(m->optimizer_cfg = cfg ? cfg : model_bind_plugin(&m->memory, &m->set, p, e))) return -1;
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

int optim_bench_open(optim_bench *b, const plugin *p, size_t n, dtype type, void *cfg, err *e)
{
    param vector = {.name = "w", .dim = {1, 1, 1, (int64_t)n}, .kind = AB_BIAS, .scale = 1};
    if (optim_elementwise(p)) return optim_bench_open_with(b, p, &vector, 1, type, cfg, e);
    return optim_bench_open_with(b, p, optim_shapes, OPTIM_SHAPES, type, cfg, e);
}

void optim_bench_close(optim_bench *b)
{
    optim_close(b->o);
    free(b->grad);
    model_free(&b->m);
}

int check_trace_update(const plugin *p, const void *cfg, err *e)
{
    CLEANUP(optim_bench_close) optim_bench b;
    return optim_bench_open(&b, p, 16, F64, (void *)cfg, e);
}

bool optim_learned(const optim_bench *b, size_t i)
{
    for (size_t k = 0; k < b->m.params.n; k++)
        if (i >= b->m.params.p[k].at && i < b->m.params.p[k].at + b->m.params.p[k].count) return true;
    return false;
}
void optim_some_gradient(double *g, size_t n, int64_t step)
{
    for (size_t i = 0; i < n; i++) g[i] = check_hashed(70 + (uint64_t)step, i);
}

void optim_steps(optim_bench *b, int64_t first, int64_t last, err *e)
{
    for (int64_t step = first; step <= last && !e->text[0]; step++) {
        optim_some_gradient(optim_gradient(b), b->n, step);
        optim_update(b->o, b->grad, 1, 0.01, step, NULL, e);
    }
}
