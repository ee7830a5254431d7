/* typed.h - lines as users type them: words, or word_TAG, separated by blanks. */
#ifndef PARSING_TYPED_H
#define PARSING_TYPED_H
#include "tree.h"

/* Length of the word in a token: all of it, or the part before _TAG (capitals and punctuation). */
size_t typed_word(slice token);
/* Has every token of the line a tag? */
int typed_tagged(const char *line);
/* Appends a word as trees have it: -LRB- and -RRB- for brackets, _ for U+2581, which marks a blank inside a subword. */
void typed_add(buffer *out, slice word);
#endif
