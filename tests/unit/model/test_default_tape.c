/* With the default parts (feed_forward relu, norm layer_norm, block post_norm or pre_norm) a model's tapes equal,
 * operation by operation, those of a Transformer written out by hand: composing a model from plugins keeps operations
 * fused. tapes.expected lists the operations; --print prints them. */
#include "tensor/cpu/cpu.h"
#include "network/model/model.h"
#include "test.h"

static void add_tape(str *out, const char *what, ab_ctx *c, err *e)
{
    str_addf(out, "%s\n", what);
    CHECK_TEXT(e->text, "");
    for (int32_t i = 1; c && i < c->n; i++) {
        char shape[64];
        const node *v = &c->v[i];
        str_addf(out, "%s %s %s%s\n", op_names[v->op], dtype_name(v->type), shape_text(v->dim, shape),
                 v->live ? " *" : "");
    }
    tape_free(c);
}

static void add_model(str *out, const char *block)
{
    static const char *const small[][2] = {
        {"d_model", "16"}, {"d_ff", "24"}, {"heads", "2"}, {"layers", "2"}, {"activation_dropout", "0.1"}};
    static const model_shape shape = {.batch = 2, .src_rows = 8, .tgt_rows = 9, .src_time = 4, .tgt_time = 5};
    arena a = {0};
    settings set = {0};
    err e = {0};
    model m;
    for (const ab_option *p = config_params; p->name; p++) settings_set(&set, p->name, param_default(p, &a), &a);
    for (size_t i = 0; i < LENGTH(small); i++) settings_set(&set, small[i][0], small[i][1], &a);
    settings_set(&set, "block", block, &a);
    CHECK_INT(model_open(&m, &set, 20, 20, F32, &cpu_backend, &e), 0);
    CHECK_TEXT(e.text, "");
    if (e.text[0]) return;
    str_addf(out, "%s\n", block);
    for (size_t i = 0; i < m.params.n; i++) str_addf(out, "%s %zu\n", m.params.p[i].name, m.params.p[i].count);
    add_tape(out, "training", model_loss_tape(&m, &shape, true, &e), &e);
    add_tape(out, "evaluation", model_loss_tape(&m, &shape, false, &e), &e);
    add_tape(out, "encoding", model_encode_tape(&m, &shape, &e), &e);
    model_step step = {.beam = 2, .capacity = 8, .cache_rows = 2 * shape.batch, .seen = 4};
    add_tape(out, "step", model_step_tape(&m, &shape, &step, &e), &e);
    model_free(&m);
    arena_free(&a);
}

int main(int argc, char **argv)
{
    str found = {0}, expected = {0};
    err e = {0};
    plugin_add_folder(BUILD_DIR "/plugins");
    add_model(&found, "post_norm");
    add_model(&found, "pre_norm");
    if (argc > 1 && same(argv[1], "--print")) fputs(str_text(&found), stdout);
    CHECK_INT(file_read(SOURCE_DIR "/tests/unit/model/tapes.expected", &expected, &e), 0);
    CHECK_TEXT(str_text(&found), str_text(&expected));
    str_free(&found);
    str_free(&expected);
    return test_end();
}
