/* costs.c - counts operations and bytes on a traced tape. A node's scope tells which part of the model it is in. */
#include "network/model/costs.h"
#include "base/cleanup.h"
#include <math.h>

const char *const cost_part_names[COST_PARTS] = {"attention", "feed-forward", "embedding", "other"};

/* Scopes "enc.0", "enc.0.self", "dec.1.cross", "dec.1.ffn", "dec.1.ffn.ln" belong to layers; "enc", "dec" and "" belong
 * to embedding, vocabulary product, last norms and loss. Norms and residual connections count with their sublayer. */
static cost_part part_of(const node *v)
{
    if (strstr(v->scope, ".ffn")) return COST_FEED_FORWARD;
    if (strchr(v->scope, '.')) return COST_ATTENTION;
    switch (v->op) {
    case OP_LINEAR:
    case OP_LINEAR_DX:
    case OP_LINEAR_DW:
    case OP_EMBED_TOKENS:
    case OP_EMBED_TOKENS_BACK: return COST_EMBEDDING;
    default: return COST_OTHER;
    }
}

/* The number of (query, key) pairs of an ATTEND node or of its gradient. */
static double pairs_of(const ab_ctx *c, const node *v, int64_t sentences)
{
    if (!op_attends(v->op)) return 0;
    return (double)c->v[v->i.ATTEND.q].dim[2] * (double)c->v[v->i.ATTEND.k].dim[2] / (double)sentences;
}

int model_count_costs(model *m, const model_shape *s, model_costs *out, err *e)
{
    *out = (model_costs){0};
    CLEANUP(tape_end) ab_ctx *c = model_loss_tape(m, s, true, e);
    if (!c) return -1;
    if (tape_measure(c)) return fail(e, "%s", c->error.text);
    for (int32_t i = 1; i < c->n; i++) {
        const node *v = &c->v[i];
        if (!v->live) continue;
        double *to = i < c->forward_n ? out->forward : out->backward;
        to[part_of(v)] += node_flops(c, i, pairs_of(c, v, s->batch));
    }
    out->parameters = params_count(&m->params);
    out->values = c->buffer_size;
    dtype type = m->compute == F64 ? F64 : F32;
    out->learned = 2 * params_bytes(&m->params, 0, type);
    for (uint32_t i = 0; i < m->params.n_slots; i++) out->learned += params_bytes(&m->params, i + 1, type);
    return 0;
}

double costs_total(const model_costs *c)
{
    double sum = 0;
    for (int i = 0; i < COST_PARTS; i++) sum += c->forward[i] + c->backward[i];
    return sum;
}

model_shape costs_shape(int64_t batch_tokens, int64_t length)
{
    int64_t sentences = batch_tokens / length > 0 ? batch_tokens / length : 1;
    return (model_shape){sentences, batch_tokens, batch_tokens, length, length};
}

double model_update_flops(model *m, int64_t length, err *e)
{
    model_shape s = costs_shape(m->cfg.batch_tokens, length);
    model_costs c;
    return model_count_costs(m, &s, &c, e) ? NAN : costs_total(&c) * (double)m->cfg.gradient_accumulation;
}
