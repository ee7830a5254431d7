/* vocab_fuzz.c - fuzzes stored vocabularies: bytes are refused with a message, or the vocabulary encodes and decodes
 * any line with ids inside it, and is written as bytes that read back to the same size. If the first byte is below 16,
 * it chooses the kind, and a header with the right sha256, which random bytes would never hit, is added here; otherwise
 * the bytes are used as they are. */
#include "file.h"
#include "text/tokens/vocab.h"
#include <string.h>

static const char *const kinds[] = {"bpe", "unigram", "words", "char", "wordpiece"};

/* The first word of a stored vocabulary. */
static const char *magic(void)
{
    static char word[64];
    static const char *const line = "a";
    if (*word) return word;
    err e = {0};
    str bytes = {0};
    vocab *v = vocab_train(TOKENS_WORDS, 0, false, &line, 1, &e);
    must(v != NULL, e.text);
    vocab_write(v, &bytes);
    char *end = strstr(bytes.s, " words ");
    must(end && end - bytes.s < 63, "the header is another than this target knows");
    memcpy(word, bytes.s, (size_t)(end - bytes.s));
    str_free(&bytes);
    vocab_free(v);
    return word;
}

static void with_header(const uint8_t *data, size_t n, str *out)
{
    char sum[65];
    size_t size = n > 1 ? data[1] : 0;
    sha256_of(data + 1, n - 1, sum);
    str_addf(out, "%s %s %zu %s %zu %s\n", magic(), kinds[data[0] & 8 ? 4 : data[0] % 4], size,
             data[0] & 4 ? "lower" : "mixed", n - 1, sum);
    str_addn(out, (const char *)data + 1, n - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const lines[] = {"", "a b c", "Ein Hund l\xc3\xa4uft .", "\xe2\x96\x81 \xf0\x9f\x98\x80 \xff x"};
    err e = {0};
    str bytes = {0}, written = {0};
    if (n && data[0] < 16)
        with_header(data, n, &bytes);
    else
        str_addn(&bytes, (const char *)data, n);
    vocab *v = vocab_read(str_text(&bytes), bytes.n, &e);
    must(v || e.text[0], "refused without a word");
    for (size_t i = 0; v && i < sizeof lines / sizeof *lines; i++) {
        id_list ids = {0};
        str back = {0};
        err why = {0};
        if (!vocab_encode(v, lines[i], &ids, &why)) vocab_decode(v, ids.id, ids.n, &back);
        for (int64_t k = 0; k < ids.n; k++)
            must(ids.id[k] >= 0 && ids.id[k] < vocab_size(v), "an id outside the vocabulary");
        id_list_free(&ids);
        str_free(&back);
    }
    if (v) vocab_write(v, &written);
    vocab *again = v ? vocab_read(written.s, written.n, &e) : NULL;
    must(!v || (again && vocab_size(again) == vocab_size(v)), "a vocabulary does not read back");
    str_free(&bytes);
    str_free(&written);
    vocab_free(again);
    vocab_free(v);
    return 0;
}
