/* Influence of keys on outputs: for token mixers whose dependence is known, and for attention whose softmax the host
 * does not recognise. Sentences of different lengths in one batch. */
#include "network/train/influence.h"
#include "tensor/cpu/cpu.h"
#include "test.h"
#include "network/train/train.h"
#include "opened.h"
#include "world.h"

static const char *const small[][2] = {
    {"task", "sequence"}, {"layers", "2"},          {"d_model", "16"}, {"d_ff", "24"},          {"heads", "2"},
    {"dropout", "0.1"},   {"position", "sinusoid"}, {"seed", "3"},     {"batch_tokens", "100"}, {"steps", "1"}};

typedef struct {
    model m;
    batcher *all;
    batch b;
    influence *x;
} looked;

static void look(world *w, const char *attention, const char *kind, looked *l)
{
    err e = {0};
    put(w, "attention_encoder", attention), put(w, "attention_decoder", attention);
    if (kind) put(w, "mixes.kind", kind);
    if (train_open_model(&l->m, &w->set, w->src, w->tgt, F32, &cpu_backend, &e)) broken("%s", e.text);
    param *kernel = params_find(&l->m.params, "dec.1.self.kernel");
    for (size_t i = 0; kernel && i < kernel->count; i++) /* [3,d_model], the oldest first */
        ((float *)l->m.params.value)[kernel->at + i] = (const float[]){0.2f, -0.3f, 0.5f}[i / 16];
    l->m.params.version++;
    l->all = batcher_new(&w->data.split[AB_DEV], &(batch_options){.batch_tokens = 200, .max_sentences = 4}, &e);
    if (!l->all || !batcher_next(l->all, &l->b)) broken("%s", e.text);
    l->x = influence_open(&l->m, &l->b, &e);
    if (!l->x) broken("%s", e.text);
}

static void forget(looked *l)
{
    influence_close(l->x);
    batcher_free(l->all);
    model_free(&l->m);
}

static double mean(int64_t i, int64_t j) { return j <= i ? 1 / (double)(i + 1) : 0; }
static double shift(int64_t i, int64_t j) { return j == i - 1; }
static double triangle(int64_t i, int64_t j) { return j <= i ? (double)(j + 1) * 2 / (double)((i + 1) * (i + 2)) : 0; }
/* Shares |0.5|, |-0.3|, |0.2| of the three positions, divided by the sum over those positions that exist. */
static double convolution(int64_t i, int64_t j)
{
    static const double kernel[] = {0.5, 0.3, 0.2};
    double sum = 0;
    for (int64_t d = 0; d <= i && d < 3; d++) sum += kernel[d];
    return j > i || i - j > 2 ? 0 : kernel[i - j] / sum;
}

static void check_known(world *w, const char *kind, size_t heads, double (*expected)(int64_t i, int64_t j))
{
    looked l;
    weights x;
    weights_source from;
    look(w, BUILD_DIR "/sabotage/mixes.so", kind, &l);
    CHECK(influence_find(l.x, "dec", "self", 1, &x, &from));
    CHECK_TEXT(influence_source(from), heads > 1 ? "|d output / d value|" : "|d output / d input|");
    CHECK_INT(x.heads, heads);
    double worst = 0;
    for (int64_t b = 0; b < l.b.n_sentences; b++) {
        int64_t n = l.b.tgt_offset[b + 1] - l.b.tgt_offset[b];
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < x.rows; i++)
                for (size_t j = 0; j < x.stride; j++) {
                    double found = (double)x.at[(((size_t)b * heads + h) * x.rows + i) * x.stride + j],
                           wanted = (int64_t)i < n && (int64_t)j < n ? expected((int64_t)i, (int64_t)j) : 0;
                    if (fabs(found - wanted) > worst) worst = fabs(found - wanted);
                    if (wanted == 0) CHECK_NEAR(found, 0, 0); /* later tokens and padding have exactly 0 */
                }
    }
    if (worst > 1e-5) printf("%s:\n", kind);
    CHECK_NEAR(worst, 0, 1e-5);
    CHECK(influence_find(l.x, "dec", "cross", 1, &x, &from)); /* scaled_dot's */
    CHECK_TEXT(influence_source(from), "softmax");
    forget(&l);
}

/* If their learned values are equal, influences of a model without ab_softmax equal the attention weights of a model
 * with ab_softmax. */
static void check_softmax(world *w)
{
    looked hidden, plain;
    weights a, b;
    weights_source from;
    look(w, BUILD_DIR "/sabotage/mixes.so", "exponentials", &hidden);
    look(w, "scaled_dot", NULL, &plain);
    CHECK_INT(hidden.m.params.learned, plain.m.params.learned);
    CHECK(!memcmp(hidden.m.params.value, plain.m.params.value, plain.m.params.learned * sizeof(float)));
    for (int part = 0; part < 2; part++) {
        const char *stack = part ? "dec" : "enc";
        CHECK(influence_find(plain.x, stack, "self", 0, &b, &from));
        CHECK_TEXT(influence_source(from), "softmax");
        CHECK(influence_find(hidden.x, stack, "self", 0, &a, &from));
        CHECK_TEXT(influence_source(from), "|d output / d value|");
        CHECK_INT(a.heads, b.heads);
        const int32_t *offset = part ? plain.b.tgt_offset : plain.b.src_offset;
        double worst = 0;
        for (int64_t s = 0; s < plain.b.n_sentences; s++)
            for (size_t h = 0; h < a.heads; h++)
                for (int64_t i = 0; i < offset[s + 1] - offset[s]; i++)
                    for (int64_t j = 0; j < offset[s + 1] - offset[s]; j++) {
                        size_t row = ((size_t)s * a.heads + h) * a.rows + (size_t)i;
                        double d =
                            fabs((double)a.at[row * a.stride + (size_t)j] - (double)b.at[row * b.stride + (size_t)j]);
                        if (d > worst) worst = d;
                    }
        CHECK_NEAR(worst, 0, 2e-6);
    }
    forget(&hidden);
    forget(&plain);
}

/* Cross-attention to one position: the previous layer also reads the encoder and passes it on in the query's row, but a
 * layer's influence counts only what this layer reads itself. */
static void check_aligned(world *w)
{
    looked l;
    weights x;
    weights_source from;
    put(w, "layers.cross.1.attention", BUILD_DIR "/sabotage/mixes.so"), put(w, "mixes.kind", "gated");
    look(w, "scaled_dot", NULL, &l);
    put(w, "layers.cross.1.attention", "scaled_dot");
    CHECK(influence_find(l.x, "dec", "cross", 1, &x, &from));
    CHECK_TEXT(influence_source(from), "|d output / d input|");
    for (int64_t b = 0; b < l.b.n_sentences; b++) {
        int64_t keys = l.b.src_offset[b + 1] - l.b.src_offset[b];
        for (int64_t i = 0; i < l.b.tgt_offset[b + 1] - l.b.tgt_offset[b] && i < keys; i++)
            for (int64_t j = 0; j < keys; j++)
                CHECK_NEAR(x.at[((size_t)b * x.rows + (size_t)i) * x.stride + (size_t)j], i == j, 0);
    }
    forget(&l);
}

static void check_nothing(world *w)
{
    looked l;
    weights x;
    weights_source from;
    look(w, BUILD_DIR "/sabotage/mixes.so", "nothing", &l);
    CHECK(!influence_find(l.x, "dec", "self", 1, &x, &from));
    CHECK(!influence_find(l.x, "dec", "self", 2, &x, &from)); /* there is no such layer */
    forget(&l);
}

/* Every shipped mixer gives influences; in a decoder later positions have 0; rows sum to 1. */
static void check_shipped(world *w, const char *name, const char *source)
{
    looked l;
    weights x;
    weights_source from;
    look(w, name, NULL, &l);
    CHECK(influence_find(l.x, "dec", "self", 0, &x, &from));
    if (!same(influence_source(from), source)) printf("%s:\n", name);
    CHECK_TEXT(influence_source(from), source);
    double later = 0, off = 0;
    for (int64_t b = 0; b < l.b.n_sentences; b++)
        for (size_t h = 0; h < x.heads; h++)
            for (int64_t i = 0; i < l.b.tgt_offset[b + 1] - l.b.tgt_offset[b]; i++) {
                const float *row = x.at + (((size_t)b * x.heads + h) * x.rows + (size_t)i) * x.stride;
                double sum = 0;
                for (size_t j = 0; j < x.stride; j++) {
                    sum += (double)row[j];
                    if ((int64_t)j > i) later = fmax(later, (double)row[j]);
                }
                off = fmax(off, fabs(sum - 1));
            }
    if (later > 0 || off > 1e-5) printf("%s:\n", name);
    CHECK_NEAR(later, 0, 0);
    CHECK_NEAR(off, 0, 1e-5);
    forget(&l);
}

int main(void)
{
    world w;
    static const char *const value = "|d output / d value|", *const input = "|d output / d input|";
    const char *const shipped[][2] = {{"scaled_dot", "softmax"}, {"entmax", "softmax"},    {"differential", value},
                                      {"sigmoid", value},        {"linear", value},        {"retention", value},
                                      {"gated_linear", value},   {"delta_net", value},     {"gated_delta_net", value},
                                      {"mamba2", value},         {"convolutional", input}, {"hyena", input},
                                      {"recurrent", input},      {"lstm", input}};
    cpu_threads(1);
    plugin_add_folder(BUILD_DIR "/plugins");
    open_file(BUILD_DIR "/sabotage/mixes.so");
    world_open(&w, small, LENGTH(small), "500");
    check_known(&w, "mean", 1, mean);
    check_known(&w, "shift", 1, shift);
    check_known(&w, "convolution", 1, convolution);
    check_known(&w, "triangle", 2, triangle);
    check_softmax(&w);
    check_aligned(&w);
    check_nothing(&w);
    for (size_t i = 0; i < LENGTH(shipped); i++) check_shipped(&w, shipped[i][0], shipped[i][1]);
    world_close(&w);
    return test_end();
}
