/* models.h - small random models and sentences for the tests of decoding. */
#ifndef ABLATE_TEST_MODELS_H
#define ABLATE_TEST_MODELS_H
#include "test.h"
#include "tensor/cpu/cpu.h"
#include "network/decode/beam.h"
#include "text/tokens/vocab.h"

typedef struct {
    const char *attention, *position, *more; /* more: further settings, "key=value key=value" */
} kind_of_model;

static const kind_of_model kinds[] = {
    {"scaled_dot", "sinusoid", ""},
    {"scaled_dot", "learned", "block=pre_norm bias=false"},
    {"scaled_dot", "rotary", ""},
    {"scaled_dot", "alibi", ""},
    {"scaled_dot", "shaw", ""},
    {"dot", "none", "heads=2 d_k=7 d_v=5"},
    {"additive", "sinusoid", "additive.hidden=5"},
    {"restricted", "rotary", "restricted.r=3"},
    {"restricted", "shaw", "restricted.r=2 attention_encoder=scaled_dot"},
    {"scaled_dot", "rotary", "attention_cross=gaussian_window gaussian_window.most=1.5 gaussian_window.offset=true"},
    {"scaled_dot", "sinusoid", "char_ngrams=7"},
    {"linear", "sinusoid", ""},
    {"linear", "rotary", "attention_cross=scaled_dot"},
    {"recurrent", "sinusoid", "attention_cross=scaled_dot"},
    {"recurrent", "none", "attention_cross=additive attention_encoder=linear"},
    {"grouped_query", "rotary", "heads=4 grouped_query.kv_heads=2"},
    {"low_rank_value", "t5", "low_rank_value.rank=3"},
    {"convolutional", "sinusoid", "attention_cross=scaled_dot"},
    {"scaled_dot", "rotary", /* layers with different settings, and one plugin with different parameters per layer */
     "layers.decoder.1.attention=linear layers.decoder.1.heads=2 layers.decoder.0.position=none "
     "layers.encoder.0.d_ff=16 "
     "layers.decoder.0.attention=restricted layers.decoder.restricted.r=2 attention_encoder=restricted "
     "layers.cross.attention=additive layers.cross.1.additive.hidden=5 layers.cross.1.d_k=5"},
    {"convolutional", "none", "convolutional.width=1 attention_encoder=recurrent attention_cross=dot"},
};

static const backend *models_on; /* backend of the models; NULL: the CPU's */

/* Opens a model whose values are `spread` times the usual ones: a larger spread makes probabilities more peaked.
 * src_vocab 0: a decoder-only model. */
static inline void random_model_of(model *m, const kind_of_model *k, int64_t src_vocab, int64_t vocab, dtype type,
                                   double spread, uint64_t seed)
{
    settings set = {0};
    arena a = {0};
    err e = {0};
    char text[32], *more = arena_strdup(&a, k->more);
    snprintf(text, sizeof text, "%" PRIu64, seed);
    const char *plain[][2] = {{"attention", k->attention},
                              {"position", k->position},
                              {"layers", "2"},
                              {"d_model", "24"},
                              {"d_ff", "40"},
                              {"heads", "3"},
                              {"seed", text}};
    for (size_t i = 0; i < LENGTH(plain); i++) settings_set(&set, plain[i][0], plain[i][1], &a);
    for (char *at = strtok(more, " "); at; at = strtok(NULL, " ")) {
        char *value = strchr(at, '=');
        *value++ = 0;
        settings_set(&set, at, value, &a);
    }
    plugin_add_folder(BUILD_DIR "/plugins");
    if (model_open(m, &set, src_vocab, vocab, type, models_on ? models_on : &cpu_backend, &e)) {
        printf("%s with %s: %s\n", k->attention, k->position, e.text);
        exit(1);
    }
    for (size_t i = 0; i < m->params.total && spread != 1; i++) {
        if (type == F64)
            ((double *)m->params.value)[i] *= spread;
        else
            ((float *)m->params.value)[i] *= (float)spread;
    }
    m->params.version++;
    arena_free(&a);
}

static inline void random_model(model *m, const kind_of_model *k, int64_t vocab, dtype type, double spread,
                                uint64_t seed)
{
    random_model_of(m, k, vocab, vocab, type, spread, seed);
}

/* Makes n sources of `least` to `most` random tokens and EOS, and targets likewise. All memory is freed by
 * pairs_free. */
static inline pairs random_pairs(int64_t n, int64_t least, int64_t most, int64_t vocab, uint64_t seed)
{
    rng r = rng_seed(seed, 9);
    size_t ids = (size_t)(n * (most + 1)), ats = (size_t)(n + 1);
    int64_t *at = xcalloc(2 * ats + ids, sizeof *at);
    int32_t *src = (int32_t *)(at + 2 * ats), *tgt = src + ids;
    for (int side = 0; side < 2; side++) {
        int64_t *to_at = at + (size_t)side * ats, row = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t length = least + (int64_t)rng_below(&r, (uint64_t)(most - least + 1));
            for (int64_t j = 0; j < length; j++)
                (side ? tgt : src)[row++] = VOCAB_SPECIALS + (int32_t)rng_below(&r, (uint64_t)(vocab - VOCAB_SPECIALS));
            (side ? tgt : src)[row++] = VOCAB_EOS;
            to_at[i + 1] = row;
        }
    }
    return (pairs){.n = n, .src = src, .tgt = tgt, .src_at = at, .tgt_at = at + ats, .block = at};
}

/* Computes -log P of every target token, EOS included, in one full pass over pair i of p: losses [tokens of the
 * target]. */
static inline void full_pass(model *m, const pairs *p, int64_t i, double *losses)
{
    enum { MOST = 512 };
    int32_t src_pos[MOST], tgt_in[MOST], tgt_pos[MOST], src_off[2] = {0}, tgt_off[2] = {0};
    const int32_t *src = p->src + p->src_at[i], *tgt = p->tgt + p->tgt_at[i];
    err e = {0};
    src_off[1] = (int32_t)(p->src_at[i + 1] - p->src_at[i]);
    tgt_off[1] = (int32_t)(p->tgt_at[i + 1] - p->tgt_at[i]);
    for (int32_t j = 0; j < src_off[1]; j++) src_pos[j] = j;
    for (int32_t j = 0; j < tgt_off[1]; j++) tgt_pos[j] = j, tgt_in[j] = j ? tgt[j - 1] : VOCAB_BOS;
    model_batch b = {.shape = {1, src_off[1], tgt_off[1], src_off[1], tgt_off[1]},
                     .src_ids = src,
                     .src_pos = src_pos,
                     .src_offset = src_off,
                     .tgt_in = tgt_in,
                     .tgt_out = tgt,
                     .tgt_pos = tgt_pos,
                     .tgt_offset = tgt_off};
    ab_ctx *c = model_loss_tape(m, &b.shape, false, &e);
    if (!c || tape_plan(c, NULL, NULL)) {
        printf("%s\n", c ? c->error.text : e.text);
        exit(1);
    }
    model_loss_inputs(c, &b, 1);
    if (tape_run(c, &(run_options){.from = PHASE_CONST})) printf("%s\n", c->error.text);
    const node *y = tape_at(c, tape_find(c, "losses"));
    for (int64_t j = 0; j < tgt_off[1]; j++)
        losses[j] = y->type == F64 ? ((double *)y->data)[2 * j + 1] : (double)((float *)y->data)[2 * j + 1];
    tape_free(c);
}
#endif
