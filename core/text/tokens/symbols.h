/* symbols.h - a table of symbols (words or characters) with ids, most frequent first. */
#ifndef ABLATE_SYMBOLS_H
#define ABLATE_SYMBOLS_H
#include "text/tokens/vocab.h"

typedef struct {
    char **text; /* [n]: the symbols of ids VOCAB_SPECIALS .. VOCAB_SPECIALS + n - 1; stored in `memory` */
    int64_t n;
    size_t cap;    /* number of texts that fit */
    int32_t *slot; /* [slots]: index into text, or -1; open addressing, slots a power of 2 */
    size_t slots;
    arena memory;
} symbols;

/* Length of the first symbol of s (UTF-8, not empty): up to the next blank (words), or one code point (not words). */
size_t symbol_length(const char *s, bool words);

/* Adds s[n] if it is new. Returns the index of s[n] in text. */
int64_t symbols_add(symbols *t, const char *s, size_t n);
/* Finds the `most` most frequent symbols of lines[n] (0: all); ties in order of first occurrence. */
void symbols_count(symbols *t, bool words, int64_t most, const char *const *lines, int64_t n);
/* Reads n bytes with one symbol per line. Returns -1 and e if there are not `expected` symbols or one occurs twice. */
int symbols_read(symbols *t, const char *data, size_t n, int64_t expected, err *e);
int32_t symbols_find(const symbols *t, const char *s, size_t n); /* the id, or VOCAB_UNK */
void symbols_free(symbols *t);
#endif
