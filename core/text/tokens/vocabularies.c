/* vocabularies.c - the five kinds of vocabulary and their serialised form. */
#include "text/tokens/vocab.h"
#include "base/cleanup.h"
#include "base/places.h"
#include "text/tokens/spm_shim.h"
#include "text/tokens/symbols.h"
#include "text/tokens/wordpiece.h"
#include <stdlib.h>
#include <string.h>

const char *const vocab_kind_names[TOKENS_KINDS] = {"bpe", "unigram", "words", "char", "wordpiece"};
static const char *const special_names[VOCAB_SPECIALS] = {"<pad>", "<unk>", "<s>", "</s>"};
#define MAGIC "ablate-vocab 1"

struct vocab {
    vocab_kind kind;
    int64_t size;
    bool lowercase;  /* lowercase before encoding */
    spm *pieces;     /* bpe, unigram */
    str model;       /* the serialised SentencePiece model */
    symbols symbols; /* words, char, wordpiece */
};

static bool is_spm(vocab_kind kind) { return kind == TOKENS_BPE || kind == TOKENS_UNIGRAM; }
bool vocab_cuts_words(vocab_kind kind) { return kind != TOKENS_WORDS && kind != TOKENS_CHAR; }

void id_list_add(id_list *l, int32_t id)
{
    l->id = grow(l->id, &l->cap, (size_t)l->n + 1, sizeof *l->id);
    l->id[l->n++] = id;
}

void id_list_free(id_list *l)
{
    free(l->id);
    *l = (id_list){0};
}

/* ---- making ---- */

static int check_lines(vocab_kind kind, const char *const *lines, int64_t n, err *e)
{
    bool any = false;
    char at[PLACE];
    int64_t n_long = 0, first_long = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t bad = utf8_bad(lines[i], strlen(lines[i]));
        if (bad >= 0)
            return fail(e, "%sline %lld of the training text: byte %lld (0x%02x) is not UTF-8", place_of(lines[i], at),
                        (long long)i + 1, (long long)bad + 1, (unsigned char)lines[i][bad]);
        if (strpbrk(lines[i], "\n"))
            return fail(e, "line %lld of the training text contains a line end", (long long)i + 1);
        if (lines[i][strspn(lines[i], " ")]) any = true;
        if (vocab_cuts_words(kind) && word_too_long(lines[i]) && !n_long++) first_long = i;
    }
    if (n_long)
        log_line(LOG_WARN,
                 "%sline %lld of the training text has a word of more than %d characters: the vocabulary is trained "
                 "without this line%s",
                 place_of(lines[first_long], at), (long long)first_long + 1, LONGEST_WORD,
                 n_long > 1 ? " and others like it" : "");
    return any ? 0 : fail(e, "cannot make a vocabulary: found %lld lines, all empty", (long long)n);
}

static vocab *open_model(vocab_kind kind, const void *data, size_t n, err *e)
{
    spm *pieces = spm_open(data, n, e);
    if (!pieces) return NULL;
    vocab *v = xcalloc(1, sizeof *v);
    *v = (vocab){.kind = kind, .size = spm_size(pieces), .pieces = pieces};
    str_addn(&v->model, data, n);
    for (int i = 0; i < VOCAB_SPECIALS; i++) {
        if (v->size > i && same(spm_piece(pieces, i), special_names[i])) continue;
        fail(e, "not a model of ablate: its token %d is not %s", i, special_names[i]);
        vocab_free(v);
        return NULL;
    }
    return v;
}

static vocab *train(vocab_kind kind, int64_t size, const char *const *symbols, int64_t n_symbols,
                    const char *const *lines, int64_t n, err *e)
{
    vocab *v = NULL, *bpe = NULL;
    long long least = kind == TOKENS_WORDPIECE ? wordpiece_least(n_symbols, lines, n) : 0;
    if (size < least) {
        fail(e,
             "vocab_size %lld is too small: a wordpiece vocabulary has each character twice; set vocab_size = %lld "
             "or more",
             (long long)size, least);
        return NULL;
    }
    if (vocab_cuts_words(kind)) {
        CLEANUP(str_free) str model = {0};
        if (!spm_train(kind != TOKENS_UNIGRAM, size, symbols, n_symbols, lines, n, &model, e))
            v = open_model(kind, model.s, model.n, e);
        if (!v || is_spm(kind)) return v;
        bpe = v;
    }
    v = xcalloc(1, sizeof *v);
    v->kind = kind;
    if (bpe)
        wordpiece_from_bpe(&v->symbols, bpe->pieces, size, symbols, n_symbols);
    else
        symbols_count(&v->symbols, kind == TOKENS_WORDS, size ? size - VOCAB_SPECIALS : 0, lines, n);
    vocab_free(bpe);
    v->size = v->symbols.n + VOCAB_SPECIALS;
    return v;
}

vocab *vocab_train_with(vocab_kind kind, int64_t size, bool lowercase, const char *const *symbols, int64_t n_symbols,
                        const char *const *lines, int64_t n, err *e)
{
    if ((size && size <= VOCAB_SPECIALS) || size > INT32_MAX || (!size && vocab_cuts_words(kind))) {
        fail(e, "vocab_size %lld: expected more than the %d special tokens", (long long)size, VOCAB_SPECIALS);
        return NULL;
    }
    if (check_lines(kind, lines, n, e)) return NULL;
    if (!lowercase) return train(kind, size, symbols, n_symbols, lines, n, e);
    CLEANUP(arena_free) arena memory = {0};
    CLEANUP(str_free) str lower = {0};
    const char **lowered = arena_alloc(&memory, (size_t)n * sizeof *lowered);
    for (int64_t i = 0; i < n; i++) {
        str_clear(&lower);
        utf8_lower(lines[i], &lower);
        lowered[i] = arena_strndup(&memory, lower.s, lower.n);
    }
    vocab *v = train(kind, size, symbols, n_symbols, lowered, n, e);
    if (v) v->lowercase = true;
    return v;
}

vocab *vocab_train(vocab_kind kind, int64_t size, bool lowercase, const char *const *lines, int64_t n, err *e)
{
    return vocab_train_with(kind, size, lowercase, NULL, 0, lines, n, e);
}

void vocab_free(vocab *v)
{
    if (!v) return;
    if (v->pieces) spm_close(v->pieces);
    str_free(&v->model);
    symbols_free(&v->symbols);
    free(v);
}

void vocabs_free(vocab *src, vocab *tgt)
{
    if (tgt != src) vocab_free(tgt);
    vocab_free(src);
}

vocab_kind vocab_kind_of(const vocab *v) { return v->kind; }
int64_t vocab_size(const vocab *v) { return v->size; }
bool vocab_lowercase(const vocab *v) { return v->lowercase; }

const char *vocab_token(const vocab *v, int32_t id)
{
    if (id < 0 || id >= v->size) return special_names[VOCAB_UNK];
    if (id < VOCAB_SPECIALS) return special_names[id];
    return v->pieces ? spm_piece(v->pieces, id) : v->symbols.text[id - VOCAB_SPECIALS];
}

const void *vocab_pieces(const vocab *v, size_t *n)
{
    *n = v->model.n;
    return v->pieces ? v->model.s : NULL;
}

double vocab_score(const vocab *v, int32_t id)
{
    return v->pieces && id >= VOCAB_SPECIALS && id < v->size ? (double)spm_score(v->pieces, id) : 0;
}

/* ---- encoding and decoding ---- */

static void encode_symbols(const vocab *v, const char *line, id_list *out)
{
    bool words = v->kind == TOKENS_WORDS;
    for (const char *s = line; *s;) {
        size_t length = symbol_length(s, words);
        if (length) id_list_add(out, symbols_find(&v->symbols, s, length));
        s += length;
        if (words && *s) s++;
    }
}

int vocab_encode(const vocab *v, const char *line, id_list *out, err *e)
{
    size_t n = strlen(line);
    int64_t bad = utf8_bad(line, n);
    if (bad >= 0) return fail(e, "byte %lld (0x%02x) is not UTF-8", (long long)bad + 1, (unsigned char)line[bad]);
    str lower = {0};
    int rc = 0;
    if (v->lowercase) {
        utf8_lower(line, &lower);
        line = lower.s;
        n = lower.n;
    }
    if (v->pieces)
        rc = spm_encode(v->pieces, line, n, out, e);
    else if (v->kind == TOKENS_WORDPIECE)
        wordpiece_encode(&v->symbols, line, out);
    else
        encode_symbols(v, line, out);
    str_free(&lower);
    return rc;
}

/* Appends a SentencePiece token. Its blanks become blanks, except the line's first, which encoding added. */
static void add_piece(str *out, const char *piece, bool first)
{
    if (first && has_prefix(piece, VOCAB_BLANK)) piece += strlen(VOCAB_BLANK);
    for (const char *blank; (blank = strstr(piece, VOCAB_BLANK)); piece = blank + strlen(VOCAB_BLANK)) {
        str_addn(out, piece, (size_t)(blank - piece));
        str_addc(out, ' ');
    }
    str_add(out, piece);
}

void vocab_decode(const vocab *v, const int32_t *ids, int64_t n, str *out)
{
    bool first = true;
    str_add(out, "");
    for (int64_t i = 0; i < n && ids[i] != VOCAB_EOS; i++) {
        if (ids[i] == VOCAB_PAD || ids[i] == VOCAB_BOS) continue;
        bool known = ids[i] >= VOCAB_SPECIALS && ids[i] < v->size;
        const char *text = known ? vocab_token(v, ids[i]) : VOCAB_UNK_TEXT;
        bool inside = v->kind == TOKENS_WORDPIECE && !first && has_prefix(text, WORDPIECE_INSIDE);
        if ((v->kind == TOKENS_WORDS || v->kind == TOKENS_WORDPIECE) && !first && !inside) str_addc(out, ' ');
        if (v->pieces)
            add_piece(out, text, first);
        else
            str_add(out, text + (inside ? strlen(WORDPIECE_INSIDE) : 0));
        first = false;
    }
}

/* ---- bytes: "ablate-vocab 1 KIND SIZE mixed|lower BYTES SHA256\n", then the model, or one symbol a line ---- */

void vocab_write(const vocab *v, str *out)
{
    CLEANUP(str_free) str symbols = {0};
    for (int64_t i = 0; i < v->symbols.n; i++) {
        str_add(&symbols, v->symbols.text[i]);
        str_addc(&symbols, '\n');
    }
    const str *payload = v->pieces ? &v->model : &symbols;
    char sum[65];
    sha256_of(str_text(payload), payload->n, sum);
    str_addf(out, MAGIC " %s %lld %s %zu %s\n", vocab_kind_names[v->kind], (long long)v->size,
             v->lowercase ? "lower" : "mixed", payload->n, sum);
    str_addn(out, str_text(payload), payload->n);
}

void vocab_sum(const vocab *v, char out[65])
{
    CLEANUP(str_free) str all = {0};
    vocab_write(v, &all);
    sha256_of(str_text(&all), all.n, out);
}

vocab *vocab_read(const void *data, size_t n, err *e)
{
    const char *end = n ? memchr(data, '\n', n < 256 ? n : 256) : NULL;
    char line[257] = "", kind[16], letters[16], sum[65], found[65];
    long long size, bytes;
    if (end) memcpy(line, data, (size_t)(end - (const char *)data));
    if (sscanf(line, MAGIC " %15s %lld %15s %lld %64s", kind, &size, letters, &bytes, sum) != 5 ||
        (!same(letters, "lower") && !same(letters, "mixed"))) {
        fail(e, "not a vocabulary: expected it to begin with \"" MAGIC "\"");
        return NULL;
    }
    const char *payload = end + 1;
    size_t have = n - (size_t)(payload - (const char *)data);
    if (bytes < 0 || (size_t)bytes != have) {
        fail(e, "a damaged vocabulary: %zu bytes after its header, expected %lld", have, bytes);
        return NULL;
    }
    sha256_of(payload, have, found);
    int k = 0;
    while (k < TOKENS_KINDS && !same(kind, vocab_kind_names[k])) k++;
    if (!same(found, sum) || k == TOKENS_KINDS) {
        fail(e, "a damaged vocabulary of kind %s: sha256 %s, expected %s", kind, found, sum);
        return NULL;
    }
    vocab *v;
    if (is_spm((vocab_kind)k)) {
        v = open_model((vocab_kind)k, payload, have, e);
    } else {
        v = xcalloc(1, sizeof *v);
        v->kind = (vocab_kind)k;
        if (symbols_read(&v->symbols, payload, have, size - VOCAB_SPECIALS, e))
            free(v), v = NULL;
        else
            v->size = v->symbols.n + VOCAB_SPECIALS;
    }
    if (v) v->lowercase = same(letters, "lower");
    if (v && v->size != size) {
        fail(e, "a damaged vocabulary: %lld tokens, expected %lld", (long long)v->size, size);
        vocab_free(v);
        v = NULL;
    }
    return v;
}
