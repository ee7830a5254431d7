/* head.c - calls the head plugin, which computes logits from the decoder's last rows and may add to the loss. Its
 * learned values are below "head". */
#include "tensor/graph/padding.h"
#include "network/model/trace.h"

typedef struct {
    layer_calls calls; /* first member: the context points to it, and casts lead back to this struct */
    tracer *t;
} head_place;

static ab_t token_vectors(ab_ctx *c)
{
    head_place *at = (head_place *)c->attn->layer;
    trace_caller before = {c->attn, c->hook, c->scope};
    owned_name *names = c->names;
    c->hook = AB_IN_HOST, c->names = NULL; /* the host, not the plugin, owns this table */
    ab_t y = trace_softmax_table(at->t);
    c->names = names;
    trace_end(c, before);
    return y;
}

/* The input with the teacher's logits, shared by all calls. */
static ab_t teacher(ab_ctx *c)
{
    const tracer *t = ((head_place *)c->attn->layer)->t;
    const char *of = t->m->cfg.teacher, *name = same(of, TEACHER_MADE_UP) ? TEACHER_MADE_UP : TEACHER;
    ab_t y = tape_find(c, name);
    if (!*of) return tape_fail(c, "ab_teacher: the run has no teacher; teacher = RUN or FILE.safetensors names one");
    return y.id ? y : t_input(c, name, c->compute == F64 ? F64 : F32, PHASE_STEP, 1, 1, t->s.tgt_rows, t->m->tgt_vocab);
}

static ab_t own_layer(ab_ctx *c, ab_t x, const char *name)
{
    trace_caller before = {c->attn, c->hook, c->scope};
    ab_t y = trace_own_layer(((head_place *)c->attn->layer)->t, arena_printf(&c->memory, "head.%s", name), x);
    trace_end(c, before);
    return y;
}

static attn_context context(tracer *t, head_place *at, ab_t x)
{
    const model *m = t->m;
    *at = (head_place){.calls = {.token_vectors = token_vectors, .teacher = teacher, .own_layer = own_layer}, .t = t};
    attn_context k = trace_context(t, &m->cfg, m->head, ROLE_DECODER, m->cfg.layers_decoder);
    k.layer = &at->calls;
    k.info.tied = m->cfg.share_embeddings != SHARE_NONE;
    k.info.vocabulary = m->tgt_vocab;
    trace_self_side(t, &k, ROLE_DECODER, x);
    return k;
}

/* Calls the head with the decoder's last rows. Returns the logits of the next token (by 0), or of the `by`-th token
 * after the next. */
static ab_t call_head(tracer *t, ab_t x, int64_t by)
{
    ab_ctx *c = t->c;
    const model *m = t->m;
    const ab_head_plugin *h = &m->head->iface.head;
    head_place at;
    attn_context k = context(t, &at, x);
    owned_name *outside = c->names;
    int64_t rows = tape_at(c, x)->dim[2];
    c->names = NULL;
    trace_caller before = trace_begin(c, &k, AB_IN_LOGITS, "head");
    ab_t y = by ? h->propose(c, m->head_cfg, x, by) : h->logits(c, m->head_cfg, x);
    y = tape_given(c, y, "head", m->head->desc.name);
    trace_end(c, before);
    c->names = outside;
    return trace_expect_rows(c, m->head, y, rows, m->tgt_vocab);
}

ab_t trace_logits(tracer *t, ab_t x, int64_t padding)
{
    const ab_head_plugin *h = &t->m->head->iface.head;
    if (!x.id) return x;
    if (h->logits) return call_head(t, x, 0);
    return t_linear_padded(t->c, x, trace_softmax_table(t), (ab_t){0}, 1, 0, h->losses ? 0 : padding);
}

ab_t trace_proposal(tracer *t, ab_t x, int64_t by) { return x.id ? call_head(t, x, by) : x; }

ab_t trace_losses(tracer *t, ab_t x, ab_t logits, ab_t target)
{
    ab_ctx *c = t->c;
    const model *m = t->m;
    const ab_head_plugin *h = &m->head->iface.head;
    if (!logits.id || (!h->logits && !h->losses)) return logits;
    if (h->losses) {
        head_place at;
        attn_context k = context(t, &at, x);
        owned_name *outside = c->names;
        c->names = NULL;
        trace_caller before = trace_begin(c, &k, AB_IN_LOSSES, "head");
        h->losses(c, m->head_cfg, x, logits, target);
        trace_end(c, before);
        c->names = outside;
    }
    /* copies the logits, because other nodes, such as a tanh's gradient, may still read them */
    dtype type = c->compute == F64 ? F64 : F32;
    return c->training ? t_add_scalar(c, t_cast(c, logits, type), 0) : logits;
}
