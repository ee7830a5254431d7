/* places.h - the file and line of a text, for messages. Only place_of is thread-safe. */
#ifndef ABLATE_BASE_PLACES_H
#define ABLATE_BASE_PLACES_H
#include <stddef.h>

enum { PLACE = 512 };
/* Records that the texts from line[0] to `end` are the n lines of a file, in order, until places_remove. */
void places_add(const char *path, char *const *line, size_t n, const char *end);
void places_remove(char *const *line);
/* Returns "FILE:LINE: " in `out` if `text` begins in a recorded line; else "". */
const char *place_of(const char *text, char out[PLACE]);
#endif
