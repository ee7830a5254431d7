/* fusion.c - finds out whether attention runs fused, from the traced tape of a small training step. */
#include "network/model/fusion.h"
#include "base/cleanup.h"
#include "tensor/cpu/cpu.h"
#include "network/plugin/plugin.h"

static const model_shape small_batch = {.batch = 2, .src_rows = 12, .tgt_rows = 12, .src_time = 6, .tgt_time = 6};

/* Describes the attention in the first n nodes. why: the reason why a part is composed. */
static const char *count_attention(ab_ctx *c, int32_t n, str *why, err *e)
{
    if (tape_measure(c)) return fail(e, "%s", c->error.text), NULL;
    int64_t plain = 0, program = 0, composed = *c->unfused != 0;
    for (int32_t i = 1; i < n; i++) {
        const node *v = &c->v[i];
        plain += v->live && (v->op == OP_ATTEND || v->op == OP_ATTEND_STEP);
        program += v->live && (v->op == OP_ATTEND_PROGRAM || v->op == OP_ATTEND_PROGRAM_STEP);
        composed += v->live && v->op == OP_SOFTMAX;
    }
    if (composed && why) str_add(why, *c->unfused ? c->unfused : "its weights go into no weighted_sum or attend");
    if (composed) return plain || program ? "part fused, part composed" : "composed";
    return program ? "fused with a score program" : plain ? "fused" : "none";
}

const char *model_fusion(model *m, str *why, err *e)
{
    CLEANUP(tape_end) ab_ctx *c = model_loss_tape(m, &small_batch, true, e);
    return c ? count_attention(c, c->forward_n, why, e) : NULL;
}

const char *model_step_fusion(model *m, err *e)
{
    model_step step = {.beam = 2, .capacity = 8, .cache_rows = 2 * small_batch.batch, .seen = 8};
    CLEANUP(tape_end) ab_ctx *c = model_step_tape(m, &small_batch, &step, e);
    return c ? count_attention(c, c->n, NULL, e) : NULL;
}

int model_choose_plugin(settings *set, const char *name, arena *a, err *e)
{
    err unused = {0};
    const plugin *p = plugin_find(AB_ATTENTION, name, &unused);
    for (int r = 0; p && r < ROLES; r++)
        if (p->iface.attention.roles & role_bits[r]) settings_set(set, config_attention_keys[r], name, a);
    if (p) return 0;
    if (!plugin_find(AB_POSITION, name, &unused)) return fail(e, "%s: no attention or position has that name", name);
    settings_set(set, "position", name, a);
    return 0;
}

const char *plugin_fusion(const char *name, const char **step, str *why, err *e)
{
    static const char *const small[][2] = {{"d_model", "16"}, {"d_ff", "16"}, {"heads", "2"}, {"layers", "1"}};
    enum { WORDS = 32 };
    CLEANUP(arena_free) arena a = {0};
    settings set = {0};
    CLEANUP(model_free) model m = {0};
    const char *how = NULL;
    for (const ab_option *p = config_params; p->name; p++) settings_set(&set, p->name, param_default(p, &a), &a);
    for (size_t i = 0; i < LENGTH(small); i++) settings_set(&set, small[i][0], small[i][1], &a);
    if (!model_choose_plugin(&set, name, &a, e) && !model_open(&m, &set, WORDS, WORDS, F32, &cpu_backend, e))
        how = model_fusion(&m, why, e);
    *step = how ? model_step_fusion(&m, e) : NULL;
    return how;
}
