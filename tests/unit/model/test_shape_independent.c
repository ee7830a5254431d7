/* test_shape_independent.c - which models need only one tape for all batches (model_shape_independent), and the longest
 * sentences' lengths that their attentions receive. */
#include "tensor/cpu/cpu.h"
#include "network/model/model.h"
#include "test.h"

static const struct {
    const char *attention, *cross, *position;
    bool one;
} kinds[] = {
    {"scaled_dot", "scaled_dot", "sinusoid", true},  {"scaled_dot", "scaled_dot", "learned", true},
    {"scaled_dot", "scaled_dot", "none", true},      {"dot", "dot", "sinusoid", true},
    {"scaled_dot", "scaled_dot", "rotary", false},   {"scaled_dot", "scaled_dot", "alibi", false},
    {"scaled_dot", "scaled_dot", "shaw", false},     {"additive", "additive", "sinusoid", false},
    {"restricted", "restricted", "sinusoid", false}, {"linear", "linear", "sinusoid", false},
    {"recurrent", "scaled_dot", "sinusoid", false},  {"convolutional", "scaled_dot", "sinusoid", false},
    {"additive", "scaled_dot", "sinusoid", false},   {"scaled_dot", "additive", "sinusoid", false},
};
static const model_shape one = {.batch = 64, .src_rows = 128, .tgt_rows = 192, .src_time = 12, .tgt_time = 8};
static const model_shape all = {.batch = 100, .src_rows = 128, .tgt_rows = 192, .src_time = 33, .tgt_time = 50};

/* self: the attention of encoder and decoder */
static model opened(const char *self, const char *cross, const char *position)
{
    static const char *const small[][2] = {
        {"d_model", "16"}, {"d_ff", "16"}, {"heads", "2"}, {"layers", "1"}, {"attention_dropout", "0.1"}};
    static const char *const keys[ROLES] = {"attention_encoder", "attention_decoder", "attention_cross"};
    arena a = {0};
    settings set = {0};
    err e = {0};
    model m;
    for (const ab_option *p = config_params; p->name; p++) settings_set(&set, p->name, param_default(p, &a), &a);
    for (size_t i = 0; i < LENGTH(small); i++) settings_set(&set, small[i][0], small[i][1], &a);
    for (int r = 0; r < ROLES; r++) settings_set(&set, keys[r], r == ROLE_CROSS ? cross : self, &a);
    settings_set(&set, "position", position, &a);
    CHECK_INT(model_open(&m, &set, 20, 20, F32, &cpu_backend, &e), 0);
    CHECK_TEXT(e.text, "");
    if (e.text[0]) exit(test_end());
    arena_free(&a);
    return m;
}

static void check_kind(const char *self, const char *cross, const char *position, bool expected)
{
    model m = opened(self, cross, position);
    bool training = model_shape_independent(&m, &one, &all, true),
         evaluation = model_shape_independent(&m, &one, &all, false);
    if (training != expected || evaluation != expected) printf("%s %s %s:\n", self, cross, position);
    CHECK_INT(training, expected);
    CHECK_INT(evaluation, expected);
    m.generic = true; /* without fused operations rows are always padded */
    CHECK_INT(model_shape_independent(&m, &one, &all, true), false);
    model_free(&m);
}

static void check_bounds(void)
{
    static const int64_t keys[ROLES] = {12, 8, 12}, queries[ROLES] = {12, 8, 8};
    model m = opened("scaled_dot", "scaled_dot", "sinusoid");
    err e = {0};
    ab_ctx *c = model_loss_tape(&m, &one, true, &e);
    CHECK_TEXT(e.text, "");
    int found = 0;
    for (int32_t i = 1; c && i < c->n; i++) {
        if (c->v[i].op != OP_ATTEND) continue;
        CHECK(c->v[i].a.ATTEND.most_keys >= keys[found % ROLES]);
        CHECK_INT(c->v[i].a.ATTEND.most_queries, queries[found % ROLES]);
        found++;
    }
    CHECK_INT(found, ROLES);
    tape_free(c);
    model_free(&m);
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    for (size_t i = 0; i < LENGTH(kinds); i++)
        check_kind(kinds[i].attention, kinds[i].cross, kinds[i].position, kinds[i].one);
    check_bounds();
    return test_end();
}
