/* ctranslate2.c - CTranslate2's model.bin (binary version 6, TransformerSpec of revision 7), its config.json and
 * vocabularies. Names and layout: python/ctranslate2/specs of CTranslate2 4. */
#include "network/formats/format.h"
#include "base/cleanup.h"

enum { BINARY_VERSION = 6, REVISION = 7 };
enum { ACT_RELU = 0, ACT_GELU_TANH = 1, ACT_SWISH = 2 };

static const setting_rule rules[] = {
    {"attention", "scaled_dot|dot"}, {"position", "sinusoid|learned"}, {"feed_forward", "relu|gelu|swiglu|geglu"},
    {"norm", "layer_norm|rms_norm"}, {"block", "post_norm|pre_norm"},  {0}};

static const weight_row rows[] = {
    {ROW_TABLE, "tgt.embed|embed", "decoder/embeddings/weight", 0},
    {ROW_TABLE, "src.embed|embed", "encoder/embeddings_0/weight", 0},
    {ROW_TABLE, "softmax|tgt.embed|embed", "decoder/projection/weight", 0},
    {ROW_POSITIONS, "enc.pos", "encoder/position_encodings/encodings", 0},
    {ROW_POSITIONS, "dec.pos", "decoder/position_encodings/encodings", 0},
    {ROW_LINEAR, "enc.#.self.q+enc.#.self.k+enc.#.self.v", "encoder/layer_#/self_attention/linear_0", 0},
    {ROW_LINEAR, "enc.#.self.o", "encoder/layer_#/self_attention/linear_1", 0},
    {ROW_NORM, "enc.#.self.ln", "encoder/layer_#/self_attention/layer_norm", 0},
    {ROW_LINEAR, "enc.#.ffn.gate|enc.#.ffn.1", "encoder/layer_#/ffn/linear_0", 0},
    {ROW_LINEAR, "enc.#.ffn.1", "encoder/layer_#/ffn/linear_0_noact", ROW_GATED},
    {ROW_LINEAR, "enc.#.ffn.2", "encoder/layer_#/ffn/linear_1", 0},
    {ROW_NORM, "enc.#.ffn.ln", "encoder/layer_#/ffn/layer_norm", 0},
    {ROW_NORM, "enc.ln", "encoder/layer_norm", 0},
    {ROW_LINEAR, "dec.#.self.q+dec.#.self.k+dec.#.self.v", "decoder/layer_#/self_attention/linear_0", 0},
    {ROW_LINEAR, "dec.#.self.o", "decoder/layer_#/self_attention/linear_1", 0},
    {ROW_NORM, "dec.#.self.ln", "decoder/layer_#/self_attention/layer_norm", 0},
    {ROW_LINEAR, "dec.#.cross.q", "decoder/layer_#/attention/linear_0", 0},
    {ROW_LINEAR, "dec.#.cross.k+dec.#.cross.v", "decoder/layer_#/attention/linear_1", 0},
    {ROW_LINEAR, "dec.#.cross.o", "decoder/layer_#/attention/linear_2", 0},
    {ROW_NORM, "dec.#.cross.ln", "decoder/layer_#/attention/layer_norm", 0},
    {ROW_LINEAR, "dec.#.ffn.gate|dec.#.ffn.1", "decoder/layer_#/ffn/linear_0", 0},
    {ROW_LINEAR, "dec.#.ffn.1", "decoder/layer_#/ffn/linear_0_noact", ROW_GATED},
    {ROW_LINEAR, "dec.#.ffn.2", "decoder/layer_#/ffn/linear_1", 0},
    {ROW_NORM, "dec.#.ffn.ln", "decoder/layer_#/ffn/layer_norm", 0},
    {ROW_NORM, "dec.ln", "decoder/layer_norm", 0},
    {0}};

/* ---- attributes: numbers stored as variables ---- */

static void number(exporting *x, const char *stack, const char *name, const char *type, int value)
{
    int16_t wide = (int16_t)value;
    int8_t narrow = (int8_t)value;
    format_add(x, arena_printf(&x->memory, "%s/%s", stack, name), type, 0, 1, 1,
               same(type, "i16") ? (const void *)&wide : (const void *)&narrow);
}

static int activation(const exporting *x)
{
    const char *name = x->m->feed_forward->desc.name;
    return same(name, "relu") ? ACT_RELU : same(name, "swiglu") ? ACT_SWISH : ACT_GELU_TANH;
}

static void add_attributes(exporting *x)
{
    static const char *const stacks[] = {"encoder", "decoder"};
    for (size_t i = 0; i < LENGTH(stacks); i++) {
        number(x, stacks[i], "num_heads", "i16", (int)x->m->cfg.heads);
        number(x, stacks[i], "pre_norm", "i8", same(x->m->block->desc.name, "pre_norm"));
        number(x, stacks[i], "activation", "i8", activation(x));
        number(x, stacks[i], "scale_embeddings", "i8", 1);
    }
    number(x, "encoder", "embeddings_merge", "i8", 0);
    number(x, "decoder", "alignment_layer", "i16", -1);
    number(x, "decoder", "alignment_heads", "i16", 1);
    number(x, "decoder", "start_from_zero_embedding", "i8", 0);
}

/* ---- model.bin ---- */

static void append_text(str *out, const char *s)
{
    format_le(out, strlen(s) + 1, 2);
    str_addn(out, s, strlen(s) + 1);
}

static int type_id(const char *type) { return same(type, "f32") ? 0 : same(type, "i8") ? 1 : 2; }

static int by_name(const void *a, const void *b)
{
    return strcmp(((const format_tensor *)a)->name, ((const format_tensor *)b)->name);
}

static int write_binary(exporting *x, err *e)
{
    CLEANUP(str_free) str out = {0};
    size_t aliases = 0;
    qsort(x->at, x->n, sizeof *x->at, by_name);
    for (size_t i = 0; i < x->n; i++) aliases += x->at[i].alias != NULL;
    format_le(&out, BINARY_VERSION, 4);
    append_text(&out, "TransformerSpec");
    format_le(&out, REVISION, 4);
    format_le(&out, x->n - aliases, 4);
    for (size_t i = 0; i < x->n; i++) {
        const format_tensor *t = &x->at[i];
        if (t->alias) continue;
        if (t->bytes > UINT32_MAX)
            return fail(e, "%s has %zu bytes: a variable of CTranslate2 has less than 4 GiB", t->name, t->bytes);
        append_text(&out, t->name);
        format_le(&out, (uint64_t)t->rank, 1);
        for (int d = 0; d < t->rank; d++) format_le(&out, (uint64_t)t->dim[d], 4);
        format_le(&out, (uint64_t)type_id(t->type), 1);
        format_le(&out, t->bytes, 4);
        str_addn(&out, t->data, t->bytes);
    }
    format_le(&out, aliases, 4);
    for (size_t i = 0; i < x->n; i++)
        if (x->at[i].alias) append_text(&out, x->at[i].name), append_text(&out, x->at[i].alias);
    return format_write_text(x, "model.bin", &out, e);
}

/* ---- the other files ---- */

static int write_config(exporting *x, err *e)
{
    str out = {0};
    str_add(&out, "{\n  \"add_source_bos\": false,\n  \"add_source_eos\": true,\n");
    str_add(&out, "  \"bos_token\": \"<s>\",\n  \"decoder_start_token\": \"<s>\",\n  \"eos_token\": \"</s>\",\n");
    str_add(&out, "  \"layer_norm_epsilon\": ");
    json_number(&out, format_eps(x));
    str_add(&out, ",\n  \"multi_query_attention\": false,\n  \"unk_token\": \"<unk>\"\n}\n");
    return format_write_text(x, "config.json", &out, e);
}

static int write(exporting *x, err *e)
{
    add_attributes(x);
    if (write_binary(x, e) || write_config(x, e) || format_write_pieces(x, e)) return -1;
    if (x->src == x->tgt) return format_write_vocabulary(x, "shared_vocabulary.json", x->tgt, false, e);
    if (format_write_vocabulary(x, "source_vocabulary.json", x->src, false, e)) return -1;
    return format_write_vocabulary(x, "target_vocabulary.json", x->tgt, false, e);
}

const model_format format_ctranslate2 = {.name = "ctranslate2",
                                         .program = "CTranslate2",
                                         .encoder = true,
                                         .rules = rules,
                                         .rows = rows,
                                         .linear = {"/weight", "/bias"},
                                         .norm = {"/gamma", "/beta"},
                                         .check = format_check_heads,
                                         .write = write};
