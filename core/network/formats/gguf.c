/* gguf.c - a decoder-only model as GGUF (version 3) of architecture llama, for llama.cpp and others
 * (gguf.md of ggml). */
#include "network/formats/format.h"
#include <string.h>

enum { VERSION = 3, ALIGNMENT = 32 };
enum { TYPE_U32 = 4, TYPE_I32 = 5, TYPE_F32 = 6, TYPE_BOOL = 7, TYPE_TEXT = 8, TYPE_ARRAY = 9 };
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN = 2, TOKEN_CONTROL = 3 };

static const setting_rule rules[] = {{"attention", "scaled_dot|dot|grouped_query"},
                                     {"position", "rotary"},
                                     {"feed_forward", "swiglu"},
                                     {"norm", "rms_norm"},
                                     {"block", "pre_norm"},
                                     {0}};

static const weight_row rows[] = {{ROW_TABLE, "tgt.embed|embed", "token_embd.weight", ROW_SCALED},
                                  {ROW_TABLE, "softmax|tgt.embed|embed", "output.weight", 0},
                                  {ROW_LINEAR, "dec.#.self.q", "blk.#.attn_q", 0},
                                  {ROW_LINEAR, "dec.#.self.k", "blk.#.attn_k", 0},
                                  {ROW_LINEAR, "dec.#.self.v", "blk.#.attn_v", 0},
                                  {ROW_LINEAR, "dec.#.self.o", "blk.#.attn_output", 0},
                                  {ROW_NORM, "dec.#.self.ln", "blk.#.attn_norm", 0},
                                  {ROW_LINEAR, "dec.#.ffn.gate", "blk.#.ffn_gate", 0},
                                  {ROW_LINEAR, "dec.#.ffn.1", "blk.#.ffn_up", 0},
                                  {ROW_LINEAR, "dec.#.ffn.2", "blk.#.ffn_down", 0},
                                  {ROW_NORM, "dec.#.ffn.ln", "blk.#.ffn_norm", 0},
                                  {ROW_NORM, "dec.ln", "output_norm", 0},
                                  {0}};

static void check(exporting *x)
{
    const config *c = &x->m->cfg;
    vocab_kind kind = vocab_kind_of(x->tgt);
    if (kind == TOKENS_WORDS || kind == TOKENS_WORDPIECE)
        format_refuse(x, "vocab", vocab_kind_names[kind], "ablate writes SentencePiece's tokenizers only");
    if (c->d_k != c->d_v) format_refuse_real(x, "d_v", (double)c->d_v, "its values are as wide as its keys");
    if (vocab_lowercase(x->tgt)) format_refuse(x, "lowercase", "true", "its tokenizers keep the case");
}

/* ---- keys and values ---- */

typedef struct {
    str out;
    uint64_t n;
} pairs;

static void append_text(str *out, const char *s)
{
    format_le(out, strlen(s), 8);
    str_add(out, s);
}
static void key(pairs *p, const char *name, int type)
{
    append_text(&p->out, name);
    format_le(&p->out, (uint64_t)type, 4);
    p->n++;
}
static void append_u32(pairs *p, const char *name, int64_t v)
{
    key(p, name, TYPE_U32);
    format_le(&p->out, (uint64_t)v, 4);
}
static void append_f32(pairs *p, const char *name, double v)
{
    key(p, name, TYPE_F32);
    format_f32(&p->out, v);
}
static void append_bool(pairs *p, const char *name, bool v)
{
    key(p, name, TYPE_BOOL);
    format_le(&p->out, v, 1);
}
static void append_string(pairs *p, const char *name, const char *v)
{
    key(p, name, TYPE_TEXT);
    append_text(&p->out, v);
}
static void begin_array(pairs *p, const char *name, int type, int64_t n)
{
    key(p, name, TYPE_ARRAY);
    format_le(&p->out, (uint64_t)type, 4);
    format_le(&p->out, (uint64_t)n, 8);
}

static void append_model(pairs *p, const exporting *x)
{
    const config *c = &x->m->cfg;
    append_string(p, "general.architecture", "llama");
    append_string(p, "general.name", "ablate");
    append_u32(p, "general.file_type", 0);
    append_u32(p, "llama.vocab_size", vocab_size(x->tgt));
    append_u32(p, "llama.context_length", format_window(x));
    append_u32(p, "llama.embedding_length", c->d_model);
    append_u32(p, "llama.block_count", c->layers_decoder);
    append_u32(p, "llama.feed_forward_length", format_inner(x));
    append_u32(p, "llama.rope.dimension_count", c->d_k);
    append_f32(p, "llama.rope.freq_base", format_setting(x, "rotary.base"));
    append_u32(p, "llama.attention.head_count", c->heads);
    append_u32(p, "llama.attention.head_count_kv", format_kv_heads(x));
    append_u32(p, "llama.attention.key_length", c->d_k);
    append_u32(p, "llama.attention.value_length", c->d_v);
    append_f32(p, "llama.attention.layer_norm_rms_epsilon", format_eps(x));
}

/* Writes subwords as SentencePiece's bpe ("llama") or unigram ("t5"), characters as a bpe without merges. */
static void append_vocabulary(pairs *p, const vocab *v)
{
    bool characters = vocab_kind_of(v) == TOKENS_CHAR;
    int32_t n = (int32_t)vocab_size(v);
    append_string(p, "tokenizer.ggml.model", vocab_kind_of(v) == TOKENS_UNIGRAM ? "t5" : "llama");
    begin_array(p, "tokenizer.ggml.tokens", TYPE_TEXT, n);
    for (int32_t i = 0; i < n; i++) {
        const char *token = vocab_token(v, i);
        append_text(&p->out, characters && same(token, " ") ? VOCAB_BLANK : token);
    }
    begin_array(p, "tokenizer.ggml.scores", TYPE_F32, n);
    for (int32_t i = 0; i < n; i++) format_f32(&p->out, vocab_score(v, i));
    begin_array(p, "tokenizer.ggml.token_type", TYPE_I32, n);
    for (int32_t i = 0; i < n; i++)
        format_le(&p->out, i == VOCAB_UNK ? TOKEN_UNKNOWN : i < VOCAB_SPECIALS ? TOKEN_CONTROL : TOKEN_NORMAL, 4);
    append_u32(p, "tokenizer.ggml.padding_token_id", VOCAB_PAD);
    append_u32(p, "tokenizer.ggml.unknown_token_id", VOCAB_UNK);
    append_u32(p, "tokenizer.ggml.bos_token_id", VOCAB_BOS);
    append_u32(p, "tokenizer.ggml.eos_token_id", VOCAB_EOS);
    append_bool(p, "tokenizer.ggml.add_bos_token", true);
    append_bool(p, "tokenizer.ggml.add_eos_token", false);
    append_bool(p, "tokenizer.ggml.add_space_prefix", !characters);
}

/* ---- the file ---- */

static size_t aligned(size_t n) { return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void pad(str *out)
{
    while (out->n % ALIGNMENT) str_addc(out, 0);
}

static int write(exporting *x, err *e)
{
    pairs p = {0};
    str out = {0};
    size_t at = 0;
    append_model(&p, x);
    append_vocabulary(&p, x->tgt);
    str_add(&out, "GGUF");
    format_le(&out, VERSION, 4);
    format_le(&out, x->n, 8);
    format_le(&out, p.n, 8);
    str_addn(&out, p.out.s, p.out.n);
    for (size_t i = 0; i < x->n; i++) {
        const format_tensor *t = &x->at[i];
        append_text(&out, t->name);
        format_le(&out, (uint64_t)t->rank, 4);
        for (int d = t->rank - 1; d >= 0; d--) format_le(&out, (uint64_t)t->dim[d], 8); /* innermost first */
        format_le(&out, 0, 4);                                                          /* F32 */
        format_le(&out, at, 8);
        at += aligned(t->bytes);
    }
    pad(&out);
    for (size_t i = 0; i < x->n; i++) {
        str_addn(&out, x->at[i].data, x->at[i].bytes);
        pad(&out);
    }
    str_free(&p.out);
    return format_write_text(x, "model.gguf", &out, e);
}

const model_format format_gguf = {.name = "gguf",
                                  .program = "GGUF's llama",
                                  .rules = rules,
                                  .rows = rows,
                                  .linear = {".weight", ".bias"},
                                  .norm = {".weight", ".bias"},
                                  .rotary_pairs = true,
                                  .check = check,
                                  .write = write};
