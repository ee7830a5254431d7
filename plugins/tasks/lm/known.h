/* known.h - the set of tokens (characters, or words between blanks) that occur in a text, to find tokens unseen in
 * training. */
#ifndef LM_KNOWN_H
#define LM_KNOWN_H
#include <stddef.h>
#include <stdint.h>

typedef struct known known;
known *known_new(char *const *line, int64_t n, int words);
void known_free(known *k);
int known_has(const known *k, const char *s, size_t n);
/* Bytes of the first token of s, which is not empty; 0 if s starts with a blank between words. */
size_t known_length(const char *s, int words);
#endif
