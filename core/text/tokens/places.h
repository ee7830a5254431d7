/* places.h - the file and the line that a text was read from, for messages. Only place_of is thread-safe. */
#ifndef ABLATE_PLACES_H
#define ABLATE_PLACES_H
#include <stddef.h>

enum { PLACE = 512 };
/* The texts from line[0] to `end` are the n lines of a file, in order; they stay until places_remove. */
void places_add(const char *path, char *const *line, size_t n, const char *end);
void places_remove(char *const *line);
/* "FILE:LINE: " of a text that begins in such a line, in `out`; else "". */
const char *place_of(const char *text, char out[PLACE]);
#endif
