/* tokenizer.c - a vocabulary as tokenizer.json, which transformers' fast tokenizers read (huggingface/tokenizers). */
#include "network/formats/format.h"
#include "base/cleanup.h"

/* ---- bpe's merges, rebuilt from SentencePiece's pieces; the best piece is merged first ---- */

typedef struct {
    const vocab *v;
    int32_t *at; /* [n]: ids, sorted by their texts */
    int64_t n;
} piece_index;

static int by_text(const void *a, const void *b, void *v)
{
    return strcmp(vocab_token(v, *(const int32_t *)a), vocab_token(v, *(const int32_t *)b));
}

static bool has(const piece_index *x, const char *text, size_t n)
{
    int64_t low = 0, high = x->n;
    while (low < high) {
        int64_t mid = (low + high) / 2;
        const char *token = vocab_token(x->v, x->at[mid]);
        int order = strncmp(text, token, n);
        if (!order) order = token[n] ? -1 : 0;
        if (!order) return true;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return false;
}

static void json_bytes(str *out, const char *s, size_t n)
{
    AUTOFREE char *copy = xstrndup(s, n);
    json_string(out, copy);
}

static int by_score(const void *a, const void *b, void *v)
{
    double x = vocab_score(v, *(const int32_t *)a), y = vocab_score(v, *(const int32_t *)b);
    return x != y ? (x < y ? 1 : -1) : *(const int32_t *)a - *(const int32_t *)b;
}

static void add_merges(str *out, const vocab *v)
{
    int64_t n = vocab_size(v) - VOCAB_SPECIALS;
    AUTOFREE int32_t *by_rank = xcalloc((size_t)(2 * n) + 1, sizeof *by_rank);
    piece_index x = {v, by_rank + n, n};
    const char *comma = "";
    for (int64_t i = 0; i < n; i++) by_rank[i] = x.at[i] = (int32_t)i + VOCAB_SPECIALS;
    qsort_r(by_rank, (size_t)n, sizeof *by_rank, by_score, (void *)v);
    qsort_r(x.at, (size_t)n, sizeof *x.at, by_text, (void *)v);
    for (int64_t i = 0; i < n; i++) {
        const char *piece = vocab_token(v, by_rank[i]);
        size_t length = strlen(piece);
        for (size_t k = 1; k < length; k++) {
            if ((piece[k] & 0xC0) == 0x80 || !has(&x, piece, k) || !has(&x, piece + k, length - k)) continue;
            str_addf(out, "%s\n[", comma);
            json_bytes(out, piece, k);
            str_addc(out, ',');
            json_string(out, piece + k);
            str_addc(out, ']');
            comma = ",";
        }
    }
}

/* ---- tokenizer.json ---- */

static void add_specials(str *out, const vocab *v)
{
    for (int i = 0; i < VOCAB_SPECIALS; i++) {
        str_addf(out, "%s{\"id\":%d,\"content\":", i ? "," : "", i);
        json_string(out, vocab_token(v, i));
        str_add(out, ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true}");
    }
}

static void add_ids(str *out, const vocab *v)
{
    str_add(out, "\"vocab\":{");
    for (int32_t i = 0; i < vocab_size(v); i++) {
        str_add(out, i ? ",\n" : "\n");
        json_string(out, vocab_token(v, i));
        str_addf(out, ":%d", i);
    }
    str_addc(out, '}');
}

static void add_scores(str *out, const vocab *v)
{
    str_addf(out, "\"unk_id\":%d,\"byte_fallback\":false,\"vocab\":[", VOCAB_UNK);
    for (int32_t i = 0; i < vocab_size(v); i++) {
        str_add(out, i ? ",\n[" : "\n[");
        json_string(out, vocab_token(v, i));
        str_addf(out, ",%.9g]", vocab_score(v, i));
    }
    str_addc(out, ']');
}

static void add_model(str *out, const vocab *v)
{
    str_add(out, "\"model\":{");
    switch (vocab_kind_of(v)) {
    case TOKENS_UNIGRAM:
        str_add(out, "\"type\":\"Unigram\",");
        add_scores(out, v);
        break;
    case TOKENS_BPE:
        str_add(out, "\"type\":\"BPE\",\"dropout\":null,\"unk_token\":\"<unk>\",\"fuse_unk\":true,");
        add_ids(out, v);
        str_add(out, ",\"merges\":[");
        add_merges(out, v);
        str_addc(out, ']');
        break;
    case TOKENS_WORDPIECE:
        str_add(out, "\"type\":\"WordPiece\",\"unk_token\":\"<unk>\",\"continuing_subword_prefix\":\"##\","
                     "\"max_input_chars_per_word\":100,");
        add_ids(out, v);
        break;
    default: str_add(out, "\"type\":\"WordLevel\",\"unk_token\":\"<unk>\","); add_ids(out, v);
    }
    str_addc(out, '}');
}

/* Writes the rules that split a line into pieces and join tokens to form a line. */
static void add_cutting(str *out, vocab_kind kind)
{
    const char *before = "{\"type\":\"Metaspace\",\"replacement\":\"" VOCAB_BLANK
                         "\",\"prepend_scheme\":\"first\",\"split\":false}",
               *after = before;
    if (kind == TOKENS_WORDS || kind == TOKENS_WORDPIECE)
        before = "{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},\"behavior\":\"Removed\",\"invert\":false}",
        after = "null";
    if (kind == TOKENS_WORDPIECE) after = "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":false}";
    if (kind == TOKENS_CHAR)
        before = "{\"type\":\"Split\",\"pattern\":{\"Regex\":\".\"},\"behavior\":\"Isolated\",\"invert\":false}",
        after = "{\"type\":\"Fuse\"}";
    str_addf(out, "\"pre_tokenizer\":%s,\n\"decoder\":%s,\n", before, after);
}

int format_write_tokenizer(exporting *x, const vocab *v, err *e)
{
    str out = {0};
    str_add(&out, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\n\"added_tokens\":[");
    add_specials(&out, v);
    str_addf(&out, "],\n\"normalizer\":%s,\n", vocab_lowercase(v) ? "{\"type\":\"Lowercase\"}" : "null");
    add_cutting(&out, vocab_kind_of(v));
    str_addf(&out,
             "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\","
             "\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[{\"Sequence\":{\"id\":\"A\","
             "\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],\"special_tokens\":{\"<s>\":{\"id\":\"<s>\","
             "\"ids\":[%d],\"tokens\":[\"<s>\"]}}},\n",
             VOCAB_BOS);
    add_model(&out, v);
    str_add(&out, "}\n");
    if (format_write_text(x, "tokenizer.json", &out, e)) return -1;
    str_addf(&out,
             "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n  \"clean_up_tokenization_spaces\": false,\n"
             "  \"bos_token\": \"<s>\",\n  \"eos_token\": \"</s>\",\n  \"unk_token\": \"<unk>\",\n"
             "  \"pad_token\": \"<pad>\",\n  \"model_max_length\": %lld\n}\n",
             (long long)format_window(x));
    return format_write_text(x, "tokenizer_config.json", &out, e);
}
