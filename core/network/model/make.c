/* make.c - opens a model: plugins, their settings, the checks before a run, initial values. */
#include "network/model/groups.h"
#include <stdlib.h>
#include <string.h>

/* A plugin without parameters may share its name with one that has some (attention and schedule `linear`): those are
 * the other's. */
static void *bind_plugin(model *m, const plugin *p, err *e)
{
    if (!p) return NULL;
    void *cfg = arena_alloc(&m->memory, p->desc.cfg_size + 16);
    bool any = p->desc.params && p->desc.params->name;
    if (any && config_bind(&m->set, p->desc.name, p->desc.params, cfg, &m->memory, e)) return NULL;
    return cfg;
}

/* ---- do the parts fit? ---- */

static uint32_t hooks_of(const ab_position_plugin *p)
{
    return (p->embed ? AB_POS_EMBED : 0) | (p->rotate ? AB_POS_ROTATE : 0) | (p->bias ? AB_POS_BIAS : 0) |
           (p->scores ? AB_POS_SCORES : 0) | (p->values ? AB_POS_VALUES : 0);
}

static const char *hook_names(uint32_t hooks, char out[96])
{
    static const char *const names[] = {"embed", "rotate", "bias", "scores", "values"};
    out[0] = 0;
    for (int i = 0; i < 5; i++)
        if (hooks & 1u << i) strcat(strcat(out, out[0] ? ", " : ""), names[i]);
    return out;
}

static int check_role(const model *m, int role, err *e)
{
    static const uint32_t bits[ROLES] = {AB_SELF, AB_CAUSAL, AB_CROSS};
    static const char *const keys[ROLES] = {"attention_encoder", "attention_decoder", "attention_cross"};
    const plugin *p = m->attention[role];
    if (!(p->iface.attention.roles & bits[role]))
        return fail(e, "attention '%s' does not support the role %s; set %s to another attention, such as scaled_dot",
                    p->desc.name, keys[role], keys[role]);
    uint32_t hooks = role == ROLE_CROSS ? 0 : hooks_of(&m->position->iface.position);
    uint32_t missing = hooks & ~p->iface.attention.accepts & ~(uint32_t)AB_POS_EMBED;
    char words[96];
    if (missing)
        return fail(e,
                    "position '%s' modifies an attention's %s, which attention '%s' (%s) does not support: this pair "
                    "is not applicable",
                    m->position->desc.name, hook_names(missing, words), p->desc.name, keys[role]);
    return 0;
}

static int check_vocabularies(const model *m, err *e)
{
    if (model_has_encoder(m) && m->cfg.share_embeddings == SHARE_ALL && m->src_vocab != m->tgt_vocab)
        return fail(e,
                    "share_embeddings = all needs one vocabulary for both sides, but the source has %lld ids and the "
                    "target %lld; use target or none",
                    (long long)m->src_vocab, (long long)m->tgt_vocab);
    if (!model_has_encoder(m) && m->cfg.char_ngrams)
        return fail(
            e, "char_ngrams composes tokens of the source, which a decoder-only model has not: found %lld, expected 0",
            (long long)m->cfg.char_ngrams);
    return 0;
}

static int find_plugins(model *m, err *e)
{
    const config *c = &m->cfg;
    const char *names[ROLES] = {c->attention_encoder, c->attention_decoder, c->attention_cross};
    struct {
        ab_kind kind;
        const char *name;
        const plugin **p;
        void **cfg;
    } one[] = {{AB_POSITION, c->position, &m->position, &m->position_cfg},
               {AB_FEED_FORWARD, c->feed_forward, &m->feed_forward, &m->feed_forward_cfg},
               {AB_NORM, c->norm, &m->norm, &m->norm_cfg},
               {AB_BLOCK, c->block, &m->block, &m->block_cfg},
               {AB_OPTIMIZER, c->optimizer, &m->optimizer, &m->optimizer_cfg},
               {AB_SCHEDULE, c->schedule, &m->schedule, &m->schedule_cfg}};
    for (size_t i = 0; i < LENGTH(one); i++) {
        if (!(*one[i].p = plugin_find(one[i].kind, one[i].name, e))) return -1;
        *one[i].cfg = bind_plugin(m, *one[i].p, e);
    }
    for (int r = 0; r < ROLES; r++) {
        if (r != ROLE_DECODER && !model_has_encoder(m)) continue;
        if (!(m->attention[r] = plugin_find(AB_ATTENTION, names[r], e))) return -1;
        m->attention_cfg[r] = bind_plugin(m, m->attention[r], e);
        if (check_role(m, r, e)) return -1;
    }
    return e && e->text[0] ? -1 : 0;
}

/* Ten n-grams of every token: for models that see no text. */
static void spread_ngrams(model *m)
{
    enum { OF_A_TOKEN = 10 };
    int64_t n = m->cfg.char_ngrams ? OF_A_TOKEN * m->src_vocab : 0;
    int32_t *id = arena_alloc(&m->memory, (size_t)(2 * n + 1) * sizeof *id), *token = id + n;
    for (int64_t i = 0; i < n; i++) id[i] = (int32_t)(i % m->cfg.char_ngrams), token[i] = (int32_t)(i / OF_A_TOKEN);
    model_set_ngrams(m, id, token, n);
}

/* A plugin's first complaint about its sizes comes here, before anything runs. */
static int learn_parameters(model *m, err *e)
{
    model_shape s = {.batch = 2, .src_rows = 8, .tgt_rows = 8, .src_time = 4, .tgt_time = 4};
    ab_ctx *c = model_loss_tape(m, &s, false, e);
    if (!c) return -1;
    tape_free(c);
    return 0;
}

ab_parameter model_parameter(const param *p)
{
    ab_parameter out = {.name = p->name, .kind = p->kind, .n_parts = p->n_parts ? p->n_parts : 1, .part = {p->dim[3]}};
    memcpy(out.dim, p->dim, sizeof out.dim);
    if (p->n_parts) memcpy(out.part, p->part, sizeof out.part);
    return out;
}

int model_open_to_count(model *m, const settings *set, int64_t src_vocab, int64_t tgt_vocab, dtype compute,
                        const backend *b, err *e)
{
    *m = (model){.src_vocab = src_vocab, .tgt_vocab = tgt_vocab, .compute = compute, .backend = b};
    for (size_t i = 0; i < set->n; i++) settings_put(&m->set, set->at[i].key, set->at[i].value, &m->memory);
    if (config_from_settings(&m->set, &m->cfg, &m->memory, e)) goto out;
    const char *seed = settings_get(&m->set, "seed");
    if (seed && !parse_int(seed, &m->cfg.seed)) {
        fail(e, "seed = %s: expected an integer", seed);
        goto out;
    }
    if (find_plugins(m, e) || check_vocabularies(m, e)) goto out;
    spread_ngrams(m);
    if (learn_parameters(m, e) || groups_make(m, e)) goto out;
    return 0;
out:
    model_free(m);
    return -1;
}

int model_open(model *m, const settings *set, int64_t src_vocab, int64_t tgt_vocab, dtype compute, const backend *b,
               err *e)
{
    if (model_open_to_count(m, set, src_vocab, tgt_vocab, compute, b, e)) return -1;
    params_alloc(&m->params, compute == F64 ? F64 : F32, m->optimizer->iface.optimizer.n_slots, (uint64_t)m->cfg.seed,
                 b);
    return 0;
}

void model_set_ngrams(model *m, const int32_t *id, const int32_t *token, int64_t n)
{
    m->ngram.id = id, m->ngram.token = token, m->ngram.n = n;
}

void model_free(model *m)
{
    params_free(&m->params);
    free(m->tables.at);
    arena_free(&m->tables.memory);
    arena_free(&m->memory);
    *m = (model){0};
}

static bool alike(model *m, const model_shape *a, const model_shape *b, bool training)
{
    err e = {0};
    ab_ctx *x = model_loss_tape(m, a, training, &e), *y = x ? model_loss_tape(m, b, training, &e) : NULL;
    bool same_work = y && tape_same_structure(x, y);
    tape_free(x);
    tape_free(y);
    return same_work;
}

bool model_shape_independent(model *m, const model_shape *one, const model_shape *all, bool training)
{
    model_shape other = *one;
    other.batch *= 2, other.src_time += 4, other.tgt_time += 8;
    return alike(m, one, &other, training) && alike(m, one, all, training);
}

int model_check_reach(const model *m, int64_t needed, const char *why, err *e)
{
    for (int i = 0; i < ROLES; i++)
        if (m->attention[i] && plugin_check_reach(m->attention[i], m->attention_cfg[i], needed, why, e)) return -1;
    return plugin_check_reach(m->position, m->position_cfg, needed, why, e);
}

/* ---- arithmetic about a model ---- */

int64_t model_count_formula(const config *c, int64_t vocab, bool encoder)
{
    int64_t d = c->d_model, K = c->heads * c->d_k, U = c->heads * c->d_v, ff = c->d_ff;
    int64_t attn = d * (2 * K + 2 * U) + (c->bias ? 2 * K + U + d : 0), ffn = 2 * d * ff + ff + d, ln = 2 * d;
    int64_t layers = c->layers_decoder * (attn + ffn + 2 * ln);
    int64_t tables = c->share_embeddings == SHARE_NONE ? 2 : 1, stacks = encoder ? 2 : 1;
    if (encoder) {
        layers += c->layers_encoder * (attn + ffn + 2 * ln) + c->layers_decoder * (attn + ln);
        tables += c->share_embeddings != SHARE_ALL;
    }
    return layers + (tables * vocab + (encoder ? c->char_ngrams : 0)) * d +
           (same(c->block, "pre_norm") ? stacks * ln : 0);
}

double model_flops(const model *m, double src_tokens, double tgt_tokens)
{
    const config *c = &m->cfg;
    double d = (double)c->d_model, K = (double)(c->heads * c->d_k), U = (double)(c->heads * c->d_v),
           ff = (double)c->d_ff;
    double attn = d * (2 * K + 2 * U), ffn = 2 * d * ff;
    double target = (double)c->layers_decoder * (attn + ffn) + (double)m->tgt_vocab * d;
    if (!model_has_encoder(m)) return 6 * target * tgt_tokens;
    double source = (double)c->layers_encoder * (attn + ffn) + (double)c->layers_decoder * d * (K + U);
    target += (double)c->layers_decoder * d * (K + U);
    return 6 * (source * src_tokens + target * tgt_tokens);
}
