/* wordpiece.h - pieces of words (Wu et al. 2016, section 4.1): single blanks separate words, and a piece that does not
 * begin its word has "##" before it. */
#ifndef ABLATE_WORDPIECE_H
#define ABLATE_WORDPIECE_H
#include "text/tokens/spm_shim.h"
#include "text/tokens/symbols.h"

/* The least possible size: VOCAB_SPECIALS, symbols[n_symbols], and every different character of lines[n] twice. */
int64_t wordpiece_least(int64_t n_symbols, const char *const *lines, int64_t n);
/* Fills t with size - VOCAB_SPECIALS pieces or fewer: symbols[n_symbols] whole, every character of a BPE model as the
 * beginning of a word and inside one, then the model's merges in its order. */
void wordpiece_from_bpe(symbols *t, const spm *bpe, int64_t size, const char *const *symbols, int64_t n_symbols);
/* Appends the ids of a line: the longest piece from the left, again and again. A word is VOCAB_UNK as a whole if no
 * piece fits somewhere or it has more than 100 characters. */
void wordpiece_encode(const symbols *t, const char *line, id_list *out);
#endif
