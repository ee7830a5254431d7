/* llama.c - a decoder-only model for transformers' LlamaForCausalLM (src/transformers/models/llama). */
#include "network/formats/format.h"

static const setting_rule rules[] = {{"attention", "scaled_dot|dot|grouped_query"},
                                     {"position", "rotary"},
                                     {"feed_forward", "swiglu|geglu"},
                                     {"norm", "rms_norm"},
                                     {"block", "pre_norm"},
                                     {0}};

static const weight_row rows[] = {{ROW_TABLE, "tgt.embed|embed", "model.embed_tokens.weight", ROW_SCALED},
                                  {ROW_TABLE, "softmax|tgt.embed|embed", "lm_head.weight", 0},
                                  {ROW_LINEAR, "dec.#.self.q", "model.layers.#.self_attn.q_proj", ROW_LIKE},
                                  {ROW_LINEAR, "dec.#.self.k", "model.layers.#.self_attn.k_proj", ROW_LIKE},
                                  {ROW_LINEAR, "dec.#.self.v", "model.layers.#.self_attn.v_proj", ROW_LIKE},
                                  {ROW_LINEAR, "dec.#.self.o", "model.layers.#.self_attn.o_proj", ROW_LIKE},
                                  {ROW_NORM, "dec.#.self.ln", "model.layers.#.input_layernorm", 0},
                                  {ROW_LINEAR, "dec.#.ffn.gate", "model.layers.#.mlp.gate_proj", 0},
                                  {ROW_LINEAR, "dec.#.ffn.1", "model.layers.#.mlp.up_proj", 0},
                                  {ROW_LINEAR, "dec.#.ffn.2", "model.layers.#.mlp.down_proj", 0},
                                  {ROW_NORM, "dec.#.ffn.ln", "model.layers.#.post_attention_layernorm", 0},
                                  {ROW_NORM, "dec.ln", "model.norm", 0},
                                  {0}};

static void check(exporting *x)
{
    const config *c = &x->m->cfg;
    if (c->d_k != c->d_v) format_refuse_real(x, "d_v", (double)c->d_v, "its values are as wide as its keys");
    if (c->d_model % c->heads) format_refuse_real(x, "heads", (double)c->heads, "it wants a divisor of d_model");
}

static int write_config(exporting *x, err *e)
{
    const config *c = &x->m->cfg;
    str out = {0};
    str_addf(&out,
             "{\n  \"architectures\": [\"LlamaForCausalLM\"],\n  \"model_type\": \"llama\",\n  \"vocab_size\": %lld,\n"
             "  \"hidden_size\": %lld,\n  \"intermediate_size\": %lld,\n  \"num_hidden_layers\": %lld,\n"
             "  \"num_attention_heads\": %lld,\n  \"num_key_value_heads\": %lld,\n  \"head_dim\": %lld,\n",
             (long long)vocab_size(x->tgt), (long long)c->d_model, (long long)format_inner(x),
             (long long)c->layers_decoder, (long long)c->heads, (long long)format_kv_heads(x), (long long)c->d_k);
    str_addf(&out,
             "  \"hidden_act\": \"%s\",\n  \"max_position_embeddings\": %lld,\n  \"rms_norm_eps\": %.9g,\n"
             "  \"rope_theta\": %.9g,\n  \"attention_bias\": %s,\n  \"mlp_bias\": false,\n",
             same(x->m->feed_forward->desc.name, "geglu") ? "gelu_pytorch_tanh" : "silu", (long long)format_window(x),
             format_eps(x), format_setting(x, "rotary.base"), format_attention_bias(x) ? "true" : "false");
    str_addf(&out,
             "  \"tie_word_embeddings\": false,\n  \"torch_dtype\": \"float32\",\n  \"pad_token_id\": %d,\n"
             "  \"bos_token_id\": %d,\n  \"eos_token_id\": %d\n}\n",
             VOCAB_PAD, VOCAB_BOS, VOCAB_EOS);
    return format_write_text(x, "config.json", &out, e);
}

static int write(exporting *x, err *e)
{
    return format_write_safetensors(x, e) || write_config(x, e) || format_write_tokenizer(x, x->tgt, e) ? -1 : 0;
}

const model_format format_llama = {.name = "huggingface",
                                   .program = "Llama",
                                   .rules = rules,
                                   .rows = rows,
                                   .linear = {".weight", ".bias"},
                                   .norm = {".weight", ".bias"},
                                   .check = check,
                                   .write = write};
