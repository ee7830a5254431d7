/* typed.h - lines as users type them: words, or word_TAG, with blanks between them. */
#ifndef PARSING_TYPED_H
#define PARSING_TYPED_H
#include "tree.h"

/* How many bytes of a token are its word: all, or those before _TAG (capitals and punctuation). */
size_t typed_word(slice token);
/* 1 when every token of the line has a tag. */
int typed_tagged(const char *line);
/* Appends a word as trees have it: -LRB- and -RRB- for brackets, _ for the sign of a blank inside a subword.
 */
void typed_add(buffer *out, slice word);
#endif
