/* count_formula.h - the number of a model's parameters by formula, for built-in attention and positions. */
#ifndef ABLATE_COUNT_FORMULA_H
#define ABLATE_COUNT_FORMULA_H
#include "network/model/model.h"

/* encoder: false for a decoder-only model. */
static int64_t count_formula(const config *c, int64_t vocab, bool encoder)
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
#endif
