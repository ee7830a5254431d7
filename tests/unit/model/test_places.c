/* Settings of single layers: if all layers get a setting, the model equals, bit for bit, a model in which the run has
 * this setting; if only some layers get a setting, only these layers change. An invalid setting is refused with its
 * key. */
#include "../decode/models.h"

enum { VOCAB = 19 };

static void losses_of(const char *attention, const char *more, int64_t src, double *losses, model *m)
{
    random_model_of(m, &(kind_of_model){attention, "rotary", more}, src, VOCAB, F32, 1, 5);
    pairs p = random_pairs(1, 9, 9, VOCAB, 2);
    full_pass(m, &p, 0, losses);
    free(p.block);
}

static const int64_t *dims_of(const model *m, const char *name)
{
    static const int64_t none[4];
    for (size_t i = 0; i < m->params.n; i++)
        if (same(m->params.p[i].name, name)) return m->params.p[i].dim;
    return none;
}

static void check_same(const char *attention, const char *run, const char *layers, int64_t src)
{
    model a, b;
    double x[16] = {0}, y[16] = {0};
    losses_of(attention, run, src, x, &a);
    losses_of(attention, layers, src, y, &b);
    CHECK_INT(b.params.total, a.params.total);
    for (int i = 0; i < 10; i++)
        CHECK_THAT(x[i] == y[i], "%s: loss %d is %.9g, with %s %.9g", run, i, x[i], layers, y[i]);
    model_free(&a);
    model_free(&b);
}

static void refused(const char *key, const char *value, const char *expected)
{
    arena a = {0};
    settings set = {0};
    err e = {0};
    model m;
    for (const ab_option *p = config_params; p->name; p++) settings_set(&set, p->name, param_default(p, &a), &a);
    settings_set(&set, "layers", "2", &a);
    settings_set(&set, key, value, &a);
    CHECK_INT(model_open_to_count(&m, &set, VOCAB, VOCAB, F32, &cpu_backend, &e), -1);
    CHECK_TEXT(e.text, expected);
    arena_free(&a);
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    check_same("scaled_dot", "heads=2 d_k=12 d_v=12 d_ff=16",
               "layers.encoder.heads=2 layers.decoder.0.heads=2 layers.decoder.1.heads=2 layers.cross.heads=2 "
               "layers.encoder.d_k=12 layers.decoder.d_k=12 layers.cross.d_k=12 layers.encoder.d_v=12 "
               "layers.decoder.d_v=12 layers.cross.d_v=12 layers.encoder.d_ff=16 layers.decoder.0-1.d_ff=16",
               VOCAB);
    check_same("restricted", "restricted.r=2",
               "restricted.r=9 layers.decoder.restricted.r=2 layers.encoder.restricted.r=2 "
               "layers.cross.restricted.r=2",
               VOCAB);
    check_same("linear", "", "attention_decoder=scaled_dot layers.decoder.attention=linear", 0);
    /* the run's own attention and position, which do not fit, are used in no layer */
    check_same("scaled_dot", "attention_decoder=scaled_dot",
               "attention_decoder=gated_delta_net layers.decoder.attention=scaled_dot", 0);

    model m;
    double x[16], y[16];
    losses_of("scaled_dot",
              "layers.decoder.1.heads=2 layers.decoder.1.d_k=4 layers.cross.d_v=1 layers.encoder.0.d_ff=7", VOCAB, x,
              &m);
    CHECK_INT(dims_of(&m, "dec.0.self.qkv.w")[3], 3 * 24);
    CHECK_INT(dims_of(&m, "dec.1.self.qkv.w")[3], 2 * (4 + 4 + 12));
    CHECK_INT(dims_of(&m, "dec.1.cross.kv.w")[3], 3 * (8 + 1));
    CHECK_INT(dims_of(&m, "enc.0.ffn.1.w")[3], 7);
    CHECK_INT(dims_of(&m, "enc.1.ffn.1.w")[3], 40);
    CHECK_INT(m.widest.heads, 3);
    CHECK_INT(m.widest.d_ff, 40);
    model_free(&m);
    /* the setting of a smaller range of layers wins, in either order */
    losses_of("restricted", "layers.decoder.1.restricted.r=1 layers.decoder.restricted.r=5", 0, x, &m);
    model_free(&m);
    losses_of("restricted", "layers.decoder.0.restricted.r=5 layers.decoder.1.restricted.r=1", 0, y, &m);
    for (int i = 0; i < 10; i++) CHECK_THAT(x[i] == y[i], "loss %d: found %.9g, expected %.9g", i, x[i], y[i]);
    model_free(&m);

    refused("layers.decoder.1.restricted.r", "2",
            "layers.decoder.1.restricted.r: no plugin that these layers use has such a parameter");
    refused("layers.decoder.1.position", "learned",
            "layer 1 of the decoder: position 'learned' is added to the embedding, so all layers must have "
            "it");
    refused(
        "layers.decoder.0.attention", "aligned",
        "attention 'aligned' does not support the role attention_decoder; set attention_decoder to another attention, "
        "such as scaled_dot");
    return test_end();
}
