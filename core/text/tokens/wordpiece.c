/* wordpiece.c - a vocabulary of word pieces from a BPE model, and encoding with it. */
#include "text/tokens/wordpiece.h"
#include "base/cleanup.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_CHARACTERS = 100 };

static void add(symbols *t, const char *before, const char *text)
{
    CLEANUP(str_free) str piece = {0};
    str_addf(&piece, "%s%s", before, text);
    if (*text) symbols_add(t, piece.s, piece.n);
}

int64_t wordpiece_least(int64_t n_symbols, const char *const *lines, int64_t n)
{
    CLEANUP(symbols_free) symbols characters = {0};
    symbols_count(&characters, false, 0, lines, n);
    return VOCAB_SPECIALS + n_symbols + 2 * characters.n;
}

void wordpiece_from_bpe(symbols *t, const spm *bpe, int64_t size, const char *const *symbols, int64_t n_symbols)
{
    int64_t most = size - VOCAB_SPECIALS;
    for (int64_t i = 0; i < n_symbols; i++) add(t, "", symbols[i]);
    for (int merges = 0; merges < 2; merges++)
        for (int32_t i = VOCAB_SPECIALS; i < spm_size(bpe) && (!merges || t->n < most); i++) {
            const char *piece = spm_piece(bpe, i),
                       *text = piece + (has_prefix(piece, VOCAB_BLANK) ? strlen(VOCAB_BLANK) : 0);
            bool merge = *text && text[symbol_length(text, false)];
            if (merge != merges) continue;
            if (!merge || text > piece) add(t, "", text);
            if (!merge || text == piece) add(t, WORDPIECE_INSIDE, text);
        }
}

/* Encodes word[n], which stands behind two bytes to write WORDPIECE_INSIDE into. Returns false if no piece fits. */
static bool encode_word(const symbols *t, char *word, size_t n, id_list *out)
{
    for (size_t at = 0, end; at < n; at = end) {
        char *piece = word + at - (at ? strlen(WORDPIECE_INSIDE) : 0);
        if (at) memcpy(piece, WORDPIECE_INSIDE, strlen(WORDPIECE_INSIDE)); /* overwrites the two bytes before `at` */
        int32_t id = VOCAB_UNK;
        for (end = n; end > at; end--) {
            bool whole = end == n || (word[end] & 0xc0) != 0x80;
            if (whole && (id = symbols_find(t, piece, (size_t)(word + end - piece))) != VOCAB_UNK) break;
        }
        if (id == VOCAB_UNK) return false;
        id_list_add(out, id);
    }
    return true;
}

void wordpiece_encode(const symbols *t, const char *line, id_list *out)
{
    AUTOFREE char *copy = xmalloc(strlen(line) + strlen(WORDPIECE_INSIDE) + 1);
    for (const char *s = line; *s; s += *s == ' ') {
        size_t n = symbol_length(s, true);
        int64_t before = out->n;
        char *word = memcpy(copy + strlen(WORDPIECE_INSIDE), s, n);
        if (utf8_count(word, n) > MOST_CHARACTERS || !encode_word(t, word, n, out)) {
            out->n = before;
            id_list_add(out, VOCAB_UNK);
        }
        s += n;
    }
}
