/* make.c - opens a model: finds plugins, binds their settings, checks them, initialises the parameters. */
#include "network/model/groups.h"
#include "base/cleanup.h"
#include "network/settings/places.h"

/* Plugins of different kinds may share a name (attention and schedule `linear`): settings below that name belong to the
 * plugin with parameters. */
void *model_bind_plugin(arena *a, const settings *set, const plugin *p, err *e)
{
    if (!p) return NULL;
    if (p->described) {
        fail(e, "with --sandbox, %s is opened only inside the sandbox", p->path);
        return NULL;
    }
    void *cfg = arena_alloc(a, p->desc.cfg_size + 16);
    bool any = p->desc.params && p->desc.params->name;
    if (any && config_bind(set, p->desc.name, p->desc.params, cfg, a, e)) return NULL;
    return cfg;
}

int model_open_task(const plugin *p, const settings *set, const ab_env *env, arena *a, void **self,
                    char said[TASK_SAYS], err *e)
{
    void *cfg = model_bind_plugin(a, set, p, e);
    *said = 0;
    if (!cfg) return -1;
    if (!p->iface.task.open(self, cfg, &host_table, env, said, TASK_SAYS)) return 0;
    return fail(e, "task '%s': %s", p->desc.name, said);
}

/* ---- do the plugins fit together? ---- */

static uint32_t position_hooks(const plugin *position)
{
    const ab_position_plugin *p = &position->iface.position;
    return (p->embed ? AB_POS_EMBED : 0) | (p->rotate || p->rotate_by ? AB_POS_ROTATE : 0) |
           (p->bias ? AB_POS_BIAS : 0) | (p->scores ? AB_POS_SCORES : 0) | (p->values ? AB_POS_VALUES : 0);
}

uint32_t position_missing(const plugin *position, const plugin *attention)
{
    return position_hooks(position) & ~attention->iface.attention.accepts & ~(uint32_t)AB_POS_EMBED;
}

static const char *hook_names(uint32_t hooks, char out[96])
{
    static const char *const names[] = {"embed", "rotate", "bias", "scores", "values"};
    out[0] = 0;
    for (int i = 0; i < 5; i++)
        if (hooks & 1u << i) strcat(strcat(out, out[0] ? ", " : ""), names[i]);
    return out;
}

const uint32_t role_bits[ROLES] = {AB_SELF, AB_CAUSAL, AB_CROSS};

uint32_t model_role(const model *m, int role)
{
    return role == ROLE_DECODER && m->bidirectional ? AB_SELF : role_bits[role];
}

int model_check_part(const model *m, const model_part *part, int role, err *e)
{
    const char *key = config_attention_keys[role];
    const plugin *p = part->attention;
    if (!(p->iface.attention.roles & model_role(m, role)))
        return fail(e, "attention '%s' does not support the role %s; set %s to another attention, such as scaled_dot",
                    p->desc.name, key, key);
    uint32_t missing = role == ROLE_CROSS ? 0 : position_missing(part->position, p);
    char message[96];
    if (missing)
        return fail(e,
                    "position '%s' modifies an attention's %s, which attention '%s' (%s) does not support: this pair "
                    "is not applicable",
                    part->position->desc.name, hook_names(missing, message), p->desc.name, key);
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
            e, "char_ngrams composes tokens of the source, which a decoder-only model lacks: found %lld, expected 0",
            (long long)m->cfg.char_ngrams);
    return 0;
}

/* ---- layers that differ ---- */

static bool is_parameter_of(const char *key, const plugin *p)
{
    for (const char *const *s = p->desc.calls; s && *s; s++) {
        err none = {0};
        const plugin *called = plugin_find(AB_ATTENTION, *s, &none);
        if (called && called != p && is_parameter_of(key, called)) return true;
    }
    size_t n = strlen(p->desc.name);
    return !strncmp(key, p->desc.name, n) && key[n] == '.' && param_find(p->desc.params, key + n + 1);
}

/* Refuses a parameter that is set for some layers if no plugin of these layers has such a parameter. */
static int check_parameters(const model *m, err *e)
{
    for (size_t i = 0; i < m->set.n; i++) {
        place_key k;
        if (!place_key_read(m->set.at[i].key, &k) || !strchr(k.key, '.') || !m->parts[k.place]) continue;
        int64_t n = k.place == PLACE_ENCODER ? m->cfg.layers_encoder : m->cfg.layers_decoder;
        bool used = false;
        for (int64_t l = k.from; l <= k.to && l < n; l++) {
            const model_part *part = &m->parts[k.place][l];
            const plugin *const all[] = {part->attention, part->position, part->feed_forward, part->norm};
            for (size_t p = 0; p < (k.place == PLACE_CROSS ? 1 : LENGTH(all)); p++)
                used |= is_parameter_of(k.key, all[p]);
        }
        if (!used) return fail(e, "%s: no plugin that these layers use has such a parameter", m->set.at[i].key);
    }
    return 0;
}

typedef struct {
    ab_kind kind;
    const char *name;
    const plugin **p;
    void **cfg;
} wanted;

/* Finds plugins and binds their settings. */
static int find_all(model *m, const settings *set, const wanted *w, size_t n, err *e)
{
    for (size_t i = 0; i < n; i++)
        if (!(*w[i].p = plugin_find(w[i].kind, w[i].name, e)) ||
            !(*w[i].cfg = model_bind_plugin(&m->memory, set, *w[i].p, e)))
            return -1;
    return 0;
}

static int change_part(model *m, model_part *part, int role, int64_t layer, err *e)
{
    settings *own = arena_alloc(&m->memory, sizeof *own);
    place_settings(&m->set, role, layer, own, &m->memory);
    part->set = own;
    if (config_from_settings(own, &part->cfg, &m->memory, e)) return -1;
    const char *const names[ROLES] = {part->cfg.attention_encoder, part->cfg.attention_decoder,
                                      part->cfg.attention_cross};
    const wanted all[] = {{AB_ATTENTION, names[role], &part->attention, &part->attention_cfg},
                          {AB_POSITION, part->cfg.position, &part->position, &part->position_cfg},
                          {AB_FEED_FORWARD, part->cfg.feed_forward, &part->feed_forward, &part->feed_forward_cfg},
                          {AB_NORM, part->cfg.norm, &part->norm, &part->norm_cfg}};
    if (find_all(m, own, all, LENGTH(all), e)) return -1;
    bool embeds = part->position != m->position && part->position->iface.position.embed;
    return embeds ? fail(e, "position '%s' is added to the embedding, so all layers must have it",
                         part->position->desc.name)
                  : 0;
}

static void widen(int64_t *widest, int64_t x)
{
    if (*widest < x) *widest = x;
}

static bool layers_differ(const model *m)
{
    for (size_t i = 0; i < m->set.n; i++)
        if (has_prefix(m->set.at[i].key, PLACE_PREFIX)) return true;
    return false;
}

static int make_parts(model *m, int role, err *e)
{
    bool differ = layers_differ(m);
    int64_t n = role == ROLE_ENCODER ? m->cfg.layers_encoder : m->cfg.layers_decoder;
    m->parts[role] = arena_alloc(&m->memory, (size_t)(n + 1) * sizeof *m->parts[role]);
    for (int64_t i = 0; i <= n; i++) { /* part n, which has the run's settings, is for a block's `finish` */
        model_part *part = &m->parts[role][i];
        *part = (model_part){m->cfg,
                             &m->set,
                             m->attention[role],
                             m->position,
                             m->feed_forward,
                             m->norm,
                             m->attention_cfg[role],
                             m->position_cfg,
                             m->feed_forward_cfg,
                             m->norm_cfg};
        if (i < n && differ && change_part(m, part, role, i, e))
            return fail_in(e, "layer %lld of the %s: ", (long long)i,
                           role == ROLE_ENCODER   ? "encoder"
                           : role == ROLE_DECODER ? "decoder"
                                                  : "decoder's cross-attention");
        if (i < n && model_check_part(m, part, role, e)) return -1;
        widen(&m->widest.heads, part->cfg.heads), widen(&m->widest.d_ff, part->cfg.d_ff);
        widen(&m->widest.d_k, part->cfg.d_k), widen(&m->widest.d_v, part->cfg.d_v);
    }
    return 0;
}

static int find_plugins(model *m, err *e)
{
#define KIND(NAME, name, ...) {AB_##NAME, c->name, &m->name, &m->name##_cfg},
    const config *c = &m->cfg;
    const char *names[ROLES] = {c->attention_encoder, c->attention_decoder, c->attention_cross};
    const wanted all[] = {AB_MODEL_KINDS(KIND)};
    if (find_all(m, &m->set, all, LENGTH(all), e)) return -1;
    m->widest = *c;
    for (int r = 0; r < ROLES; r++) {
        if (r != ROLE_DECODER && !model_has_encoder(m)) continue;
        const wanted attention = {AB_ATTENTION, names[r], &m->attention[r], &m->attention_cfg[r]};
        if (find_all(m, &m->set, &attention, 1, e) || make_parts(m, r, e)) return -1;
    }
    return check_parameters(m, e);
}

/* Makes up ten n-grams per token, for models that see no text. */
static void spread_ngrams(model *m)
{
    enum { OF_A_TOKEN = 10 };
    int64_t n = m->cfg.char_ngrams ? OF_A_TOKEN * m->src_vocab : 0;
    int32_t *id = arena_alloc(&m->memory, (size_t)(2 * n + 1) * sizeof *id), *token = id + n;
    for (int64_t i = 0; i < n; i++) id[i] = (int32_t)(i % m->cfg.char_ngrams), token[i] = (int32_t)(i / OF_A_TOKEN);
    model_set_ngrams(m, id, token, n);
}

/* Traces the model once, to find its parameters. A plugin that rejects its sizes fails here, before anything runs. */
static int learn_parameters(model *m, err *e)
{
    model_shape s = {.batch = 2, .src_rows = 8, .tgt_rows = 8, .src_time = 4, .tgt_time = 4};
    CLEANUP(tape_end) ab_ctx *c = model_loss_tape(m, &s, false, e);
    return c ? 0 : -1;
}

ab_parameter model_parameter(const param *p)
{
    ab_parameter out = {.name = p->name,
                        .kind = p->kind,
                        .n_parts = p->n_parts ? p->n_parts : 1,
                        .part = {p->dim[3]},
                        .heads = p->heads ? p->heads : 1};
    memcpy(out.dim, p->dim, sizeof out.dim);
    if (p->n_parts) memcpy(out.part, p->part, sizeof out.part);
    return out;
}

int model_open_to_count(model *m, const settings *set, int64_t src_vocab, int64_t tgt_vocab, dtype compute,
                        const backend *b, err *e)
{
    *m = (model){.src_vocab = src_vocab, .tgt_vocab = tgt_vocab, .compute = compute, .backend = b};
    for (size_t i = 0; i < set->n; i++) settings_set(&m->set, set->at[i].key, set->at[i].value, &m->memory);
    if (config_from_settings(&m->set, &m->cfg, &m->memory, e)) goto out;
    m->bidirectional = settings_get(&m->set, MODEL_BIDIRECTIONAL) != NULL;
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

int model_open_to_read(model *m, const settings *set, int64_t src_vocab, int64_t tgt_vocab, dtype compute,
                       const backend *b, err *e)
{
    if (model_open_to_count(m, set, src_vocab, tgt_vocab, compute, b, e)) return -1;
    params_alloc_values(&m->params, compute == F64 ? F64 : F32, b);
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
    CLEANUP(tape_end) ab_ctx *x = model_loss_tape(m, a, training, &e);
    CLEANUP(tape_end) ab_ctx *y = x ? model_loss_tape(m, b, training, &e) : NULL;
    return y && tape_same_structure(x, y);
}

bool model_shape_independent(model *m, const model_shape *one, const model_shape *all, bool training)
{
    model_shape other = *one;
    other.batch *= 2, other.src_time += 4, other.tgt_time += 8;
    return alike(m, one, &other, training) && alike(m, one, all, training);
}

int model_check_reach(const model *m, int64_t needed, const char *why, err *e)
{
    for (int r = 0; r < ROLES; r++) {
        int64_t n = !m->parts[r] ? -1 : r == ROLE_ENCODER ? m->cfg.layers_encoder : m->cfg.layers_decoder;
        for (int64_t i = 0; i <= n; i++) {
            const model_part *p = &m->parts[r][i];
            if (plugin_check_reach(p->attention, p->attention_cfg, needed, why, e) ||
                plugin_check_reach(p->position, p->position_cfg, needed, why, e))
                return -1;
        }
    }
    return 0;
}

/* ---- formulas ---- */

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
