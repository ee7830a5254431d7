#include "network/model/parametrization.h"
#include <math.h>

static bool is_mup(const config *c) { return c->parametrization == PARAMETRIZATION_MUP; }

double width_ratio(const config *c) { return is_mup(c) ? (double)c->d_model / (double)c->base_d_model : 1; }

double embedding_width(const config *c) { return (double)(is_mup(c) ? c->base_d_model : c->d_model); }

double query_factor(const config *c)
{
    return is_mup(c) && c->base_d_k && c->base_d_k != c->d_k ? sqrt((double)c->base_d_k / (double)c->d_k) : 0;
}

double sublayer_factor(const config *c, int64_t layers)
{
    return is_mup(c) && c->base_layers ? (double)c->base_layers / (double)layers : 1;
}

static int refuse(const char *kind, const char *name, const char *why, err *e)
{
    return fail(e, "parametrization = mup: %s '%s' cannot take part: %s", kind, name, why);
}

static int check_plugins(const model *m, err *e)
{
    static const char *const like_adam[] = {"adam", "adamw", "lion"};
    const config *c = &m->cfg;
    bool known = false;
    for (size_t i = 0; i < LENGTH(like_adam); i++) known |= same(m->optimizer->desc.name, like_adam[i]);
    if (!known) return refuse("optimizer", m->optimizer->desc.name, "the rules are those of adam, adamw and lion", e);
    if (same(m->schedule->desc.name, "noam"))
        return refuse("schedule", "noam", "its rate depends on d_model; expected constant, linear, cosine or wsd", e);
    if (c->base_layers && !same(m->block->desc.name, "pre_norm"))
        return refuse("block", m->block->desc.name,
                      "base_layers needs pre_norm, whose residual sum grows with the layers", e);
    return 0;
}

/* Refuses weights without a rule: those not made by ab_linear, whose inputs are unknown, and position tables as wide as
 * the model, which have their own scale. */
static int check_kinds(const model *m, err *e)
{
    for (size_t i = 0; i < m->params.n; i++) {
        const param *p = &m->params.p[i];
        if (p->buffer) continue;
        bool weight = p->kind == AB_WEIGHT && !p->fan_in, table = p->kind == AB_TABLE && p->dim[3] == m->cfg.d_model;
        if (weight || table)
            return fail(e,
                        "parametrization = mup: there is no rule for the parameter '%s': expected plugins whose "
                        "weights are matrices of linear maps or projections",
                        p->name);
    }
    return 0;
}

int parametrization_check(const model *m, err *e)
{
    return is_mup(&m->cfg) && (check_plugins(m, e) || check_kinds(m, e)) ? -1 : 0;
}
