/* marian.c - an encoder-decoder model for transformers' MarianMTModel and MarianTokenizer
 * (src/transformers/models/marian). */
#include "network/formats/format.h"

/* torch's default eps, which MarianMT's norms always use. With a smaller eps in our norms, outputs would differ in the
 * fifth digit. */
static const double norm_eps = 1e-5;

static const setting_rule rules[] = {
    {"attention", "scaled_dot|dot"}, {"position", "sinusoid"}, {"feed_forward", "relu|gelu|squared_relu"},
    {"norm", "layer_norm"},          {"block", "post_norm"},   {0}};

static const weight_row rows[] = {
    {ROW_TABLE, "embed", "model.shared.weight", 0},
    {ROW_TABLE, "src.embed", "model.encoder.embed_tokens.weight", 0},
    {ROW_TABLE, "tgt.embed", "model.decoder.embed_tokens.weight", 0},
    {ROW_TABLE, "softmax", "lm_head.weight", 0},
    {ROW_LINEAR, "enc.#.self.q", "model.encoder.layers.#.self_attn.q_proj", ROW_BIAS},
    {ROW_LINEAR, "enc.#.self.k", "model.encoder.layers.#.self_attn.k_proj", ROW_BIAS},
    {ROW_LINEAR, "enc.#.self.v", "model.encoder.layers.#.self_attn.v_proj", ROW_BIAS},
    {ROW_LINEAR, "enc.#.self.o", "model.encoder.layers.#.self_attn.out_proj", ROW_BIAS},
    {ROW_NORM, "enc.#.self.ln", "model.encoder.layers.#.self_attn_layer_norm", 0},
    {ROW_LINEAR, "enc.#.ffn.1", "model.encoder.layers.#.fc1", 0},
    {ROW_LINEAR, "enc.#.ffn.2", "model.encoder.layers.#.fc2", 0},
    {ROW_NORM, "enc.#.ffn.ln", "model.encoder.layers.#.final_layer_norm", 0},
    {ROW_LINEAR, "dec.#.self.q", "model.decoder.layers.#.self_attn.q_proj", ROW_BIAS},
    {ROW_LINEAR, "dec.#.self.k", "model.decoder.layers.#.self_attn.k_proj", ROW_BIAS},
    {ROW_LINEAR, "dec.#.self.v", "model.decoder.layers.#.self_attn.v_proj", ROW_BIAS},
    {ROW_LINEAR, "dec.#.self.o", "model.decoder.layers.#.self_attn.out_proj", ROW_BIAS},
    {ROW_NORM, "dec.#.self.ln", "model.decoder.layers.#.self_attn_layer_norm", 0},
    {ROW_LINEAR, "dec.#.cross.q", "model.decoder.layers.#.encoder_attn.q_proj", ROW_BIAS},
    {ROW_LINEAR, "dec.#.cross.k", "model.decoder.layers.#.encoder_attn.k_proj", ROW_BIAS},
    {ROW_LINEAR, "dec.#.cross.v", "model.decoder.layers.#.encoder_attn.v_proj", ROW_BIAS},
    {ROW_LINEAR, "dec.#.cross.o", "model.decoder.layers.#.encoder_attn.out_proj", ROW_BIAS},
    {ROW_NORM, "dec.#.cross.ln", "model.decoder.layers.#.encoder_attn_layer_norm", 0},
    {ROW_LINEAR, "dec.#.ffn.1", "model.decoder.layers.#.fc1", 0},
    {ROW_LINEAR, "dec.#.ffn.2", "model.decoder.layers.#.fc2", 0},
    {ROW_NORM, "dec.#.ffn.ln", "model.decoder.layers.#.final_layer_norm", 0},
    {0}};

static void check(exporting *x)
{
    format_check_heads(x);
    if (same(x->m->position->desc.name, "sinusoid") && format_setting(x, "sinusoid.base") != 10000)
        format_refuse_real(x, "sinusoid.base", format_setting(x, "sinusoid.base"), "it has 10000");
    if (same(x->m->norm->desc.name, "layer_norm") && format_eps(x) > 1.001 * norm_eps)
        format_refuse_real(x, "layer_norm.eps", format_eps(x), "it has 1e-05");
    size_t n;
    if (!vocab_pieces(x->tgt, &n))
        format_refuse(x, "vocab", vocab_kind_names[vocab_kind_of(x->tgt)], "its tokenizer is SentencePiece's");
    if (vocab_lowercase(x->src)) format_refuse(x, "lowercase", "true", "its tokenizer keeps the case");
}

/* ---- config.json and others ---- */

static const char *activation(const exporting *x)
{
    const char *name = x->m->feed_forward->desc.name;
    return same(name, "gelu") ? "gelu_new" : same(name, "squared_relu") ? "relu2" : "relu";
}

static int write_config(exporting *x, err *e)
{
    const config *c = &x->m->cfg;
    str out = {0};
    str_addf(&out,
             "{\n  \"architectures\": [\"MarianMTModel\"],\n  \"model_type\": \"marian\",\n  \"vocab_size\": %lld,\n"
             "  \"decoder_vocab_size\": %lld,\n  \"d_model\": %lld,\n",
             (long long)vocab_size(x->src), (long long)vocab_size(x->tgt), (long long)c->d_model);
    str_addf(&out,
             "  \"encoder_layers\": %lld,\n  \"decoder_layers\": %lld,\n  \"encoder_attention_heads\": %lld,\n"
             "  \"decoder_attention_heads\": %lld,\n  \"encoder_ffn_dim\": %lld,\n  \"decoder_ffn_dim\": %lld,\n",
             (long long)c->layers_encoder, (long long)c->layers_decoder, (long long)c->heads, (long long)c->heads,
             (long long)c->d_ff, (long long)c->d_ff);
    str_addf(&out,
             "  \"max_position_embeddings\": %.0f,\n  \"activation_function\": \"%s\",\n  \"dropout\": %g,\n"
             "  \"attention_dropout\": %g,\n  \"activation_dropout\": %g,\n",
             format_setting(x, "sinusoid.max_len"), activation(x), c->dropout, c->attention_dropout,
             c->activation_dropout);
    str_addf(
        &out,
        "  \"scale_embedding\": true,\n  \"share_encoder_decoder_embeddings\": %s,\n  \"tie_word_embeddings\": %s,\n"
        "  \"normalize_before\": false,\n  \"normalize_embedding\": false,\n"
        "  \"static_position_embeddings\": true,\n  \"torch_dtype\": \"float32\",\n",
        c->share_embeddings == SHARE_ALL ? "true" : "false", c->share_embeddings == SHARE_NONE ? "false" : "true");
    str_addf(&out,
             "  \"pad_token_id\": %d,\n  \"bos_token_id\": %d,\n  \"eos_token_id\": %d,\n"
             "  \"decoder_start_token_id\": %d,\n  \"forced_eos_token_id\": null\n}\n",
             VOCAB_PAD, VOCAB_BOS, VOCAB_EOS, VOCAB_BOS);
    if (format_write_text(x, "config.json", &out, e)) return -1;
    str_addf(&out,
             "{\n  \"pad_token_id\": %d,\n  \"bos_token_id\": %d,\n  \"eos_token_id\": %d,\n"
             "  \"decoder_start_token_id\": %d,\n  \"num_beams\": %lld,\n  \"length_penalty\": %g,\n"
             "  \"max_length\": 256\n}\n",
             VOCAB_PAD, VOCAB_BOS, VOCAB_EOS, VOCAB_BOS, (long long)c->beam_size, c->length_penalty);
    return format_write_text(x, "generation_config.json", &out, e);
}

static int write_vocabularies(exporting *x, err *e)
{
    bool separate = x->src != x->tgt;
    str out = {0};
    str_addf(&out,
             "{\n  \"tokenizer_class\": \"MarianTokenizer\",\n  \"separate_vocabs\": %s,\n  \"unk_token\": \"<unk>\",\n"
             "  \"eos_token\": \"</s>\",\n  \"pad_token\": \"<pad>\",\n  \"model_max_length\": %.0f\n}\n",
             separate ? "true" : "false", format_setting(x, "sinusoid.max_len"));
    if (format_write_text(x, "tokenizer_config.json", &out, e) || format_write_pieces(x, e) ||
        format_write_vocabulary(x, "vocab.json", x->src, true, e))
        return -1;
    return separate ? format_write_vocabulary(x, "target_vocab.json", x->tgt, true, e) : 0;
}

static int write(exporting *x, err *e)
{
    int64_t n = vocab_size(x->tgt);
    float *zeros = arena_alloc(&x->memory, (size_t)n * sizeof *zeros);
    format_add(x, "final_logits_bias", "f32", 2, 1, n, zeros);
    if (format_eps(x) < 0.999 * norm_eps)
        log_line(LOG_WARN,
                 "MarianMT's norms have eps 1e-05, this model's have %g: logits differ in the fifth digit; train with "
                 "layer_norm.eps = 1e-5 if that matters",
                 format_eps(x));
    return format_write_safetensors(x, e) || write_config(x, e) || write_vocabularies(x, e) ? -1 : 0;
}

const model_format format_marian = {.name = "huggingface",
                                    .program = "MarianMT",
                                    .encoder = true,
                                    .rules = rules,
                                    .rows = rows,
                                    .linear = {".weight", ".bias"},
                                    .norm = {".weight", ".bias"},
                                    .halves = true,
                                    .check = check,
                                    .write = write};
