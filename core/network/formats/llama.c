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
    if (c->d_model % c->heads) format_refuse_real(x, "heads", (double)c->heads, "it needs a divisor of d_model");
}

static int write_config(exporting *x, err *e)
{
    const config *c = &x->m->cfg;
    str out = {0};
    json_open(&out, NULL, '{');
    json_open(&out, "architectures", '[');
    json_string(&out, "LlamaForCausalLM");
    str_addc(&out, ']');
    json_key_text(&out, "model_type", "llama");
    json_key_text(&out, "torch_dtype", "float32");
    json_key_text(&out, "hidden_act", same(x->m->feed_forward->desc.name, "geglu") ? "gelu_pytorch_tanh" : "silu");
    json_key_whole(&out, "vocab_size", vocab_size(x->tgt));
    json_key_whole(&out, "hidden_size", c->d_model);
    json_key_whole(&out, "intermediate_size", format_inner(x));
    json_key_whole(&out, "num_hidden_layers", c->layers_decoder);
    json_key_whole(&out, "num_attention_heads", c->heads);
    json_key_whole(&out, "num_key_value_heads", format_kv_heads(x));
    json_key_whole(&out, "head_dim", c->d_k);
    json_key_whole(&out, "max_position_embeddings", format_window(x));
    json_key_real(&out, "rms_norm_eps", format_eps(x));
    json_key_real(&out, "rope_theta", format_setting(x, "rotary.base"));
    json_key_bool(&out, "attention_bias", format_attention_bias(x));
    json_key_bool(&out, "mlp_bias", false);
    json_key_bool(&out, "tie_word_embeddings", false);
    json_key_whole(&out, "pad_token_id", VOCAB_PAD);
    json_key_whole(&out, "bos_token_id", VOCAB_BOS);
    json_key_whole(&out, "eos_token_id", VOCAB_EOS);
    str_add(&out, "}\n");
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
