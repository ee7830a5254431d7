/* For each plugin and kind of position, how attention runs (fused or composed: model/fusion.h), as `ablate list` and a
 * run's record report it. */
#include "tensor/cpu/cpu.h"
#include "network/model/fusion.h"
#include "network/plugin/plugin.h"
#include "test.h"

static const struct {
    const char *plugin, *how, *why;
} known[] = {
    {"scaled_dot", "fused", NULL},
    {"dot", "fused", NULL},
    {"grouped_query", "composed", "its weights go into no weighted_sum or attend"},
    {"rotary", "fused", NULL},
    {"learned", "fused", NULL},
    {"softcap", "fused with a score program", NULL},
    {"cosine_similarity", "fused with a score program", NULL},
    {"restricted", "fused with a score program", NULL},
    {"alibi", "fused with a score program", NULL},
    {"t5", "fused with a score program", NULL},
    {"kerple", "fused with a score program", NULL},
    {"shaw", "fused with a score program", NULL},
    {"sink", "fused with a score program", NULL},
    {"sigmoid", "fused with a score program", NULL},
    {"entmax", "fused with a score program", NULL},
    {"differential", "fused with a score program", NULL},
    {"moba", "fused", NULL}, /* fused for sentences within one block */
    {"additive", "composed", " is made of values that are not [B,H,Tq,Tk]"},
    {"talking_heads", "composed", " is neither elementwise nor each head's q k', both [B,H,T,d_k]"},
};

/* Number of live nodes of an operation in the forward pass. */
static int64_t count_of(model *m, op o)
{
    model_shape s = {.batch = 2, .src_rows = 12, .tgt_rows = 12, .src_time = 6, .tgt_time = 6};
    err e = {0};
    int64_t n = 0;
    ab_ctx *c = model_loss_tape(m, &s, true, &e);
    CHECK_TEXT(e.text, "");
    CHECK_INT(tape_measure(c), 0);
    for (int32_t i = 1; i < c->forward_n; i++) n += c->v[i].live && c->v[i].op == o;
    tape_free(c);
    return n;
}

/* A model of one layer with this attention; *set has the other settings. */
static void open_layer(model *m, settings *set, const char *attention, arena *a)
{
    err e = {0};
    settings_set(set, "layers", "1", a);
    CHECK_INT(model_choose_plugin(set, attention, a, &e), 0);
    CHECK_INT(model_open(m, set, 20, 20, F32, &cpu_backend, &e), 0);
    CHECK_TEXT(e.text, "");
}
static void put_defaults(settings *set, arena *a)
{
    for (const ab_option *p = config_params; p->name; p++) settings_set(set, p->name, param_default(p, a), a);
}

/* Fused operations replace padded tensors: rotary rotates rows of the projection, the attention kernel multiplies
 * Shaw's vectors by distance, and sums the maps of differential attention, whatever the position does to scores. No
 * operation converts rows to padded sentences. */
static void check_tape(const char *attention, const char *position, op expected, int64_t times)
{
    arena a = {0};
    settings set = {0};
    model m;
    put_defaults(&set, &a);
    settings_set(&set, "position", position, &a);
    open_layer(&m, &set, attention, &a);
    CHECK_INT(count_of(&m, expected), times);
    CHECK_INT(count_of(&m, OP_HEADS) + count_of(&m, OP_MERGE) + count_of(&m, OP_CONCAT) + count_of(&m, OP_SLICE) +
                  count_of(&m, OP_MATMUL),
              0);
    model_free(&m);
    arena_free(&a);
}

/* Number of tensors with an element per pair of tokens that training keeps for chosen blocks of keys: there are none if
 * attention is fused, and some if it is composed. */
static int64_t pairs_held(bool generic)
{
    enum { T = 50 };
    model_shape s = {.batch = 1, .src_rows = T, .tgt_rows = T, .src_time = T, .tgt_time = T};
    arena a = {0};
    settings set = {0};
    err e = {0};
    model m;
    put_defaults(&set, &a);
    settings_set(&set, "moba.block", "7", &a);
    settings_set(&set, "moba.top_k", "2", &a);
    open_layer(&m, &set, "moba", &a);
    m.generic = generic;
    ab_ctx *c = model_loss_tape(&m, &s, true, &e);
    CHECK_TEXT(e.text, "");
    CHECK_INT(tape_measure(c), 0);
    int64_t n = 0;
    for (int32_t i = 1; i < c->n; i++) n += c->v[i].live && c->v[i].dim[2] == T && c->v[i].dim[3] == T;
    tape_free(c);
    model_free(&m);
    arena_free(&a);
    return n;
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    for (size_t i = 0; i < LENGTH(known); i++) {
        err e = {0};
        str why = {0};
        const char *step, *how = plugin_fusion(known[i].plugin, &step, &why, &e);
        if (!how || !same(how, known[i].how)) printf("%s:\n", known[i].plugin);
        CHECK_TEXT(how ? how : e.text, known[i].how);
        if (known[i].why)
            CHECK_HAS(str_text(&why), known[i].why);
        else
            CHECK_TEXT(str_text(&why), "");
        str_free(&why);
    }
    check_tape("scaled_dot", "rotary", OP_ROTATE, 4); /* queries and keys, in encoder and decoder */
    check_tape("scaled_dot", "shaw", OP_ATTEND_PROGRAM, 2);
    const char *const positions[] = {"sinusoid", "rotary", "alibi", "kerple"};
    for (size_t i = 0; i < LENGTH(positions); i++) check_tape("differential", positions[i], OP_ATTEND_PROGRAM, 3);
    CHECK_INT(pairs_held(false), 0);
    CHECK(pairs_held(true) > 10);
    return test_end();
}
