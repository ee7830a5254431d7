/* block.c - a single attention call on its own tape. */
#include "network/check/block.h"
#include <string.h>

static ab_t lengths(ab_ctx *c, const block_spec *s)
{
    int32_t v[32];
    for (int64_t b = 0; b < s->batch; b++) v[b] = s->length ? s->length[b] : (int32_t)s->time;
    return t_ids(c, s->batch, v);
}

static ab_info info_of(const block_spec *s)
{
    return (ab_info){.heads = s->heads,
                     .d_k = s->d_k,
                     .d_v = s->d_v,
                     .d_model = s->d_model,
                     .layer = s->layer,
                     .n_layers = s->layer + 1,
                     .role = s->role};
}

static attn_context attn_for(block *b, const block_spec *s, ab_t x, ab_t mem)
{
    ab_ctx *c = b->c;
    ab_t off = t_ids(c, s->batch + 1, b->offset);
    ab_t qpos = t_input(c, "qpos", I32, PHASE_STEP, 1, 1, 1, s->time),
         kpos = t_input(c, "kpos", I32, PHASE_STEP, 1, 1, 1, s->time);
    return (attn_context){.info = info_of(s),
                          .pos = s->position && s->role != AB_CROSS ? &s->position->iface.position : NULL,
                          .pos_cfg = s->position_cfg,
                          .bias = true,
                          .x = x,
                          .mem = mem,
                          .q_rows = b->rows,
                          .k_rows = b->rows,
                          .batch = s->batch,
                          .q_time = s->time,
                          .k_time = s->time,
                          .q_off = off,
                          .k_off = off,
                          .qpos = qpos,
                          .kpos = kpos,
                          .klen = lengths(c, s)};
}

int block_trace(block *b, const block_spec *s, err *e)
{
    *b = (block){0};
    if (s->batch > 32) return fail(e, "found a block of %lld sentences, expected at most 32", (long long)s->batch);
    for (int64_t i = 0; i < s->batch; i++)
        b->offset[i + 1] = b->offset[i] + (s->length ? s->length[i] : (int32_t)s->time);
    b->rows = b->offset[s->batch];
    dtype type = s->measured ? F32 : F64;
    ab_ctx *c = b->c = tape_new(&b->values, &cpu_backend, type, false);
    ab_t x = t_input(c, "x", type, PHASE_STEP, 1, 1, b->rows, s->d_model), mem = x;
    if (s->measured) tape_at(c, x)->needs = true;
    if (s->role == AB_CROSS) mem = t_input(c, "mem", type, PHASE_STEP, 1, 1, b->rows, s->d_model);
    ab_t pos = t_input(c, "rows_pos", I32, PHASE_STEP, 1, 1, 1, b->rows);
    ab_t tokens = t_input(c, "tokens", I32, PHASE_STEP, 1, 1, 1, b->rows);
    attn_context alone = {.info = info_of(s), .plugin = s->attention->desc.name, .tokens = tokens};
    c->attn = &alone;
    c->hook = AB_IN_EMBED;
    if (s->position && s->position->iface.position.embed && s->role != AB_CROSS)
        x = mem = s->position->iface.position.embed(c, s->position_cfg, x, pos);
    attn_context k = attn_for(b, s, x, mem);
    k.plugin = s->attention->desc.name, k.tokens = tokens;
    c->attn = &k;
    c->hook = AB_IN_FORWARD;
    ab_t y = tape_given(c, s->attention->iface.attention.forward(c, s->attention_cfg, x, mem), "attention",
                        s->attention->desc.name);
    c->attn = NULL;
    c->hook = AB_IN_HOST;
    if (y.id && (tape_at(c, y)->dim[2] != b->rows || tape_at(c, y)->dim[3] != s->d_model)) {
        char found[64];
        tape_fail(c, "attention '%s' returned %s, expected rows [%lld,%lld]", s->attention->desc.name,
                  shape_text(tape_at(c, y)->dim, found), (long long)b->rows, (long long)s->d_model);
    }
    t_keep(c, y, "y");
    if (!y.id) tape_fail(c, "attention '%s' returned no tensor", s->attention->desc.name);
    b->forward_nodes = c->n;
    if (s->measured && y.id) tape_backward(c, t_sum_to(c, y, (int64_t[4]){1, 1, 1, 1}));
    if (!c->error.text[0]) return 0;
    fail(e, "%s", c->error.text);
    block_close(b);
    return -1;
}

static void *input(const block *b, const char *name)
{
    ab_t x = tape_find(b->c, name);
    return x.id ? tape_at(b->c, x)->data : NULL;
}

int block_plan(block *b, uint64_t seed, err *e)
{
    params_alloc(&b->values, b->c->compute, 0, seed, &cpu_backend);
    ab_ctx *c = b->c;
    if (tape_plan(c, NULL, NULL)) return fail(e, "%s", c->error.text);
    b->x = input(b, "x"), b->mem = input(b, "mem");
    b->rows_pos = input(b, "rows_pos"), b->qpos = input(b, "qpos"), b->kpos = input(b, "kpos");
    b->y = input(b, "y");
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].op == OP_INPUT && c->v[i].data)
            memset(c->v[i].data, 0, (size_t)node_count(&c->v[i]) * dtype_size(c->v[i].type));
    int32_t *tokens = input(b, "tokens");
    for (int64_t i = 0; tokens && i < b->rows; i++) tokens[i] = AB_ID_FIRST;
    ab_t q = tape_find(c, "qpos");
    int32_t time = (int32_t)node_count(tape_at(c, q));
    for (int32_t t = 0; t < time; t++) {
        if (b->qpos) b->qpos[t] = t;
        if (b->kpos) b->kpos[t] = t;
    }
    for (int32_t s = 0; b->rows_pos && b->offset[s] < b->rows; s++)
        for (int32_t r = b->offset[s]; r < b->offset[s + 1]; r++) b->rows_pos[r] = r - b->offset[s];
    return 0;
}

int block_run(block *b, err *e)
{
    b->values.version++;
    return tape_run(b->c, &(run_options){.from = PHASE_CONST}) ? fail(e, "%s", b->c->error.text) : 0;
}

void block_close(block *b)
{
    tape_free(b->c);
    params_free(&b->values);
    *b = (block){0};
}
