/* typed.h - lines as users type them: words, or word_TAG, separated by blanks. */
#ifndef PARSING_TYPED_H
#define PARSING_TYPED_H
#include "tree.h"

/* Bytes of a token that are its word: all, or those before _TAG (capitals and punctuation). */
size_t typed_word(slice token);
/* 1 if every token of the line has a tag. */
int typed_tagged(const char *line);
/* Appends a word as in trees: -LRB- and -RRB- for brackets, _ for U+2581, the mark of a blank inside a subword. */
void typed_add(buffer *out, slice word);
#endif
