/* layer.c - one layer: a block plugin calls the layer's sublayers, which are plugins, too.
 *
 * Names of parameters: enc.0.self.qkv.w, dec.0.cross.kv.b, dec.0.ffn.1.w, enc.0.self.ln.g; weights are [in, out]. */
#include "network/model/parametrization.h"
#include "network/model/trace.h"

typedef struct {
    layer_calls calls; /* first member: the context points to it, and casts lead back to this struct */
    tracer *t;
    int role; /* ROLE_ENCODER or ROLE_DECODER */
    int64_t index;
    ab_t memory;
    const char *where; /* "enc.0" */
    const model_part *part;
    int64_t n_carried; /* states so far of its feed-forwards and block; a state's number is in its name */
} layer;

/* ---- a plugin's context ---- */

attn_context trace_context(const tracer *t, const config *f, const plugin *p, int role, int64_t index)
{
    return (attn_context){.info = {.heads = f->heads,
                                   .d_k = f->d_k,
                                   .d_v = f->d_v,
                                   .d_model = f->d_model,
                                   .d_ff = f->d_ff,
                                   .layer = index,
                                   .n_layers = role == ROLE_ENCODER ? f->layers_encoder : f->layers_decoder,
                                   .role = model_role(t->m, role),
                                   .training = t->c->training},
                          .plugin = p->desc.name,
                          .tokens = role == ROLE_ENCODER ? t->src_ids : t->tgt_ids,
                          .bias = f->bias != 0,
                          .query_factor = query_factor(f),
                          .separate_init = f->qkv_init == QKV_SEPARATE,
                          .keep_weights = t->m->keep_weights,
                          .generic = t->m->generic || t->m->keep_weights,
                          .residual_dropout = f->dropout,
                          .decode = t->decode,
                          .capacity = t->step.capacity,
                          .cache_rows = t->step.cache_rows,
                          .seen = t->step.seen,
                          .ancestors = t->ancestors,
                          .parents = t->parents,
                          .time = t->time};
}

void (*model_before_plugin)(void);

trace_caller trace_begin(ab_ctx *c, attn_context *k, ab_hook hook, const char *scope)
{
    if (model_before_plugin) model_before_plugin();
    trace_caller before = {c->attn, c->hook, c->scope};
    c->attn = k, c->hook = hook, c->scope = scope;
    return before;
}

void trace_end(ab_ctx *c, trace_caller before)
{
    c->attn = before.attn, c->hook = before.hook, c->scope = before.scope;
}

ab_t trace_expect_rows(ab_ctx *c, const plugin *p, ab_t y, int64_t rows, int64_t width)
{
    char found[64];
    if (!y.id) return y;
    const int64_t *d = tape_at(c, y)->dim;
    if (d[0] == 1 && d[1] == 1 && d[2] == rows && d[3] == width) return t_cast(c, y, c->compute);
    return tape_fail(c, "%s '%s' returned %s, expected rows [%lld,%lld]", plugin_kind_name(p->desc.kind), p->desc.name,
                     shape_text(d, found), (long long)rows, (long long)width);
}

static ab_t like_rows(ab_ctx *c, const plugin *p, ab_t y, ab_t x)
{
    return trace_expect_rows(c, p, y, tape_at(c, x)->dim[2], tape_at(c, x)->dim[3]);
}

/* ---- attention: the geometry of each role ---- */

static void source_side(tracer *t, attn_context *k, bool queries)
{
    k->k_rows = t->s.src_rows, k->k_time = t->s.src_time, k->k_off = t->src_off, k->kpos = t->src_kpos,
    k->klen = t->src_len;
    k->batch = t->s.batch;
    if (queries) k->q_rows = t->s.src_rows, k->q_time = t->s.src_time, k->q_off = t->src_off, k->qpos = t->src_kpos;
}

static void target_queries(tracer *t, attn_context *k) /* the query side of cross-attention */
{
    if (t->decode)
        k->q_rows = t->s.batch * t->step.beam, k->q_time = t->step.beam, k->q_off = t->beam_off, k->qpos = t->beam_pos;
    else
        k->q_rows = t->s.tgt_rows, k->q_time = t->s.tgt_time, k->q_off = t->tgt_off, k->qpos = t->tgt_kpos;
}

static void target_self(tracer *t, attn_context *k)
{
    if (t->decode) { /* every hypothesis counts as a sentence with one query */
        int64_t rows = t->s.batch * t->step.beam;
        k->batch = k->q_rows = k->k_rows = rows;
        k->q_time = 1, k->k_time = 1;
        k->q_off = k->k_off = t->row_off;
        k->qpos = t->one_pos, k->kpos = t->past_pos, k->klen = t->row_len;
        return;
    }
    k->batch = t->s.batch;
    k->q_rows = k->k_rows = t->s.tgt_rows, k->q_time = k->k_time = t->s.tgt_time;
    k->q_off = k->k_off = t->tgt_off, k->qpos = k->kpos = t->tgt_kpos, k->klen = t->tgt_len;
}

/* ---- sublayers, as a block calls them ---- */

static layer *layer_of(const ab_ctx *c) { return (layer *)c->attn->layer; }

/* With `patches`: replaces the marked rows of a sublayer's output by an input. Only the first output of a name is
 * patched. */
static ab_t patched(const layer *l, ab_t y, const char *name)
{
    ab_ctx *c = l->t->c;
    const char *with = arena_printf(&c->memory, "%s.%s" PATCH, l->where, name),
               *where = arena_printf(&c->memory, "%s.%s" PATCHED_ROWS, l->where, name);
    if (!y.id || tape_find(c, with).id) return y;
    int64_t rows = tape_at(c, y)->dim[2], width = tape_at(c, y)->dim[3];
    ab_t from = t_input(c, with, c->compute, PHASE_STEP, 1, 1, rows, width);
    return t_where(c, t_input(c, where, c->compute, PHASE_STEP, 1, 1, rows, 1), from, y);
}

/* A sublayer's output times the factor of the parametrization. */
static ab_t sublayer(const layer *l, ab_t y, const char *name)
{
    ab_ctx *c = l->t->c;
    const config *f = &l->t->m->cfg;
    double factor = sublayer_factor(f, l->role == ROLE_ENCODER ? f->layers_encoder : f->layers_decoder);
    y = trace_scaled(c, y, factor);
    if (l->t->m->patches) y = patched(l, y, name);
    if (l->t->m->keep_outputs) t_keep(c, y, arena_printf(&c->memory, "%s.%s" KEPT_OUTPUT, l->where, name));
    return y;
}

void trace_self_side(tracer *t, attn_context *k, int role, ab_t x)
{
    k->x = k->mem = x;
    if (role == ROLE_DECODER)
        target_self(t, k);
    else
        source_side(t, k, true);
}

/* Runs an attention in this role; scope: the prefix of its learned values. */
static ab_t run_attention(layer *l, const plugin *p, const void *cfg, int role, ab_t x, ab_t mem, int depth,
                          const char *scope)
{
    tracer *t = l->t;
    ab_ctx *c = t->c;
    const model_part *part = &t->m->parts[role][l->index];
    attn_context k = trace_context(t, &part->cfg, p, role, l->index);
    k.x = x, k.mem = mem;
    k.info.dropout = c->training ? part->cfg.attention_dropout : 0;
    k.pos = role == ROLE_CROSS ? NULL : &part->position->iface.position;
    k.pos_cfg = part->position_cfg;
    k.layer = &l->calls, k.calls = p->desc.calls, k.depth = depth;
    if (role == ROLE_DECODER)
        target_self(t, &k);
    else
        source_side(t, &k, role == ROLE_ENCODER);
    if (role == ROLE_CROSS) target_queries(t, &k);
    int32_t first = c->n;
    trace_caller before = trace_begin(c, &k, AB_IN_FORWARD, scope);
    ab_t y = tape_given(c, p->iface.attention.forward(c, cfg, x, mem), "attention", p->desc.name);
    trace_end(c, before);
    y = trace_expect_rows(c, p, y, k.q_rows, t->m->cfg.d_model);
    if (t->m->keep_influence && !depth) trace_influence(c, &k, first, y, scope);
    return y;
}

static ab_t attention(ab_ctx *c, ab_t x, bool cross)
{
    layer *l = layer_of(c);
    int role = cross ? ROLE_CROSS : l->role;
    const model_part *part = &l->t->m->parts[role][l->index];
    const char *place = cross ? "cross" : "self", *scope = arena_printf(&c->memory, "%s.%s", l->where, place);
    ab_t y = run_attention(l, part->attention, part->attention_cfg, role, x, cross ? l->memory : x, 0, scope);
    return sublayer(l, y, place);
}

/* "dec.0.self.linear", for later calls "dec.0.self.linear.2" and so on. NULL and an error after too many calls. */
static const char *called_scope(ab_ctx *c, attn_context *k, const char *name)
{
    size_t n = 0, times = 1;
    for (; n < LENGTH(k->called) && k->called[n]; n++) times += same(k->called[n], name);
    if (n == LENGTH(k->called))
        return tape_fail(c, "ab_call_attention: more than %zu calls in one place", LENGTH(k->called)), NULL;
    k->called[n] = arena_strdup(&c->memory, name);
    const char *number = times > 1 ? arena_printf(&c->memory, ".%zu", times) : "";
    return arena_printf(&c->memory, "%s.%s%s", c->scope, name, number);
}

static bool is_called_by(const attn_context *k, const char *name)
{
    for (const char *const *s = k->calls; s && *s; s++)
        if (same(*s, name)) return true;
    return false;
}

static ab_t call_attention(ab_ctx *c, const char *name, ab_t x, ab_t mem)
{
    enum { DEEPEST = 4 };
    attn_context *k = c->attn;
    layer *l = layer_of(c);
    int role = k->info.role == AB_CROSS ? ROLE_CROSS : l->role;
    char shape[2][64];
    err e = {0};
    if (!is_called_by(k, name))
        return tape_fail(c,
                         "ab_call_attention: '%s' is not in the list .calls of '%s'; expected AB_PLUGIN(..., .calls = "
                         "names), with static const char *const names[] = {\"%s\", NULL}",
                         name, k->plugin, name);
    if (k->depth == DEEPEST)
        return tape_fail(c, "ab_call_attention: attentions call each other more than %d deep", DEEPEST);
    const int64_t *dx = tape_at(c, x)->dim, *dm = tape_at(c, mem)->dim;
    if (dx[2] != k->q_rows || dm[2] != k->k_rows || (role != ROLE_CROSS && x.id != mem.id))
        return tape_fail(c, "ab_call_attention: x %s and mem %s, expected %s", shape_text(dx, shape[0]),
                         shape_text(dm, shape[1]),
                         role == ROLE_CROSS ? "rows of the query side and of the key side" : "the same rows twice");
    const plugin *p = plugin_find(AB_ATTENTION, name, &e);
    model_part part = l->t->m->parts[role][l->index];
    part.attention = p;
    if (!p || model_check_part(l->t->m, &part, role, &e)) return tape_fail(c, "ab_call_attention: %s", e.text);
    void *cfg = model_bind_plugin(&c->memory, part.set, p, &e);
    if (!cfg) return tape_fail(c, "ab_call_attention: %s", e.text);
    const char *scope = called_scope(c, k, name);
    return scope ? run_attention(l, p, cfg, role, x, mem, k->depth + 1, scope) : (ab_t){0};
}

static ab_t feed_forward(ab_ctx *c, ab_t x, const char *name)
{
    layer *l = layer_of(c);
    const model_part *m = l->part;
    attn_context k = trace_context(l->t, &m->cfg, m->feed_forward, l->role, l->index);
    k.info.dropout = c->training ? m->cfg.activation_dropout : 0;
    k.mixes_tokens = m->feed_forward->desc.claims & AB_MIXES_TOKENS;
    k.n_carried = l->n_carried; /* each call has its own states, even if calls have equal names */
    if (k.mixes_tokens) trace_self_side(l->t, &k, l->role, x);
    trace_caller before = trace_begin(c, &k, AB_IN_FEED_FORWARD, arena_printf(&c->memory, "%s.%s", l->where, name));
    ab_t y = tape_given(c, m->feed_forward->iface.feed_forward.forward(c, m->feed_forward_cfg, x), "feed_forward",
                        m->feed_forward->desc.name);
    l->n_carried = k.n_carried;
    trace_end(c, before);
    return sublayer(l, like_rows(c, m->feed_forward, y, x), name);
}

static ab_t norm(ab_ctx *c, ab_t x, const ab_t *add, const char *name)
{
    layer *l = layer_of(c);
    const model_part *m = l->part;
    const ab_norm_plugin *n = &m->norm->iface.norm;
    bool fused = add && n->add && !l->t->m->generic;
    if (add && !fused) x = t_dropout_add(c, x, *add, m->cfg.dropout);
    if (!x.id) return x;
    attn_context k = trace_context(l->t, &m->cfg, m->norm, l->role, l->index);
    trace_caller before =
        trace_begin(c, &k, fused ? AB_IN_ADD_NORM : AB_IN_NORM, arena_printf(&c->memory, "%s.%s", l->where, name));
    ab_t y = tape_given(c, fused ? n->add(c, m->norm_cfg, x, *add) : n->forward(c, m->norm_cfg, x), "norm",
                        m->norm->desc.name);
    trace_end(c, before);
    return like_rows(c, m->norm, y, x);
}

/* ---- the block ---- */

static const char *stack_name(int role) { return role == ROLE_ENCODER ? "enc" : "dec"; }

static ab_t call_block(tracer *t, layer *l, ab_hook hook, ab_t x)
{
    ab_ctx *c = t->c;
    const model *m = t->m;
    if (!x.id) return x;
    l->calls =
        (layer_calls){.attention = attention, .feed_forward = feed_forward, .norm = norm, .call = call_attention};
    attn_context k = trace_context(t, &l->part->cfg, m->block, l->role, l->index);
    k.layer = &l->calls;
    k.mixes_tokens = m->block->desc.claims & AB_MIXES_TOKENS && hook == AB_IN_BLOCK;
    if (k.mixes_tokens) trace_self_side(t, &k, l->role, x);
    k.info.cross = l->memory.id != 0;
    k.info.feed_forward = l->part->feed_forward->iface.feed_forward.forward != NULL;
    const ab_block_plugin *b = &m->block->iface.block;
    trace_caller before = trace_begin(c, &k, hook, l->where);
    ab_t y =
        tape_given(c, (hook == AB_IN_BLOCK ? b->forward : b->finish)(c, m->block_cfg, x), "block", m->block->desc.name);
    trace_end(c, before);
    y = like_rows(c, m->block, y, x);
    c->file = NULL;
    return y;
}

static ab_t run_layer(tracer *t, layer l, ab_t x)
{
    ab_ctx *c = t->c;
    l.part = &t->m->parts[l.role][l.index];
    owned_name *outside = c->names;
    c->names = NULL;
    x = call_block(t, &l, AB_IN_BLOCK, x);
    c->names = outside;
    return x;
}
ab_t trace_own_layer(tracer *t, const char *where, ab_t x)
{
    return run_layer(t, (layer){.t = t, .role = ROLE_DECODER, .memory = t->memory, .where = where}, x);
}
ab_t trace_layer(tracer *t, int role, int64_t index, ab_t x, ab_t memory)
{
    ab_ctx *c = t->c;
    layer l = {.t = t, .role = role, .index = index, .memory = memory};
    l.where = arena_printf(&c->memory, "%s.%lld", stack_name(role), (long long)index);
    x = run_layer(t, l, x);
    if (t->m->cfg.watch_layers && c->training) t_keep(c, x, arena_printf(&c->memory, "%s" WATCHED, l.where));
    return x;
}

ab_t trace_finish(tracer *t, int role, ab_t x)
{
    const config *f = &t->m->cfg;
    if (!t->m->block->iface.block.finish) return x;
    layer l = {.t = t, .role = role, .where = stack_name(role)};
    l.index = role == ROLE_ENCODER ? f->layers_encoder : f->layers_decoder;
    l.part = &t->m->parts[role][l.index];
    return call_block(t, &l, AB_IN_FINISH, x);
}

ab_t trace_embed_position(tracer *t, int role, ab_t x, ab_t pos)
{
    ab_ctx *c = t->c;
    const ab_position_plugin *p = &t->m->position->iface.position;
    if (!p->embed || !x.id) return x;
    attn_context k = trace_context(t, &t->m->cfg, t->m->position, role, 0);
    trace_caller before = trace_begin(c, &k, AB_IN_EMBED, stack_name(role));
    x = tape_given(c, p->embed(c, t->m->position_cfg, x, pos), "position", t->m->position->desc.name);
    trace_end(c, before);
    return x;
}
