/* mapped.h - is this address inside the data of a loaded program or library? For what a description points at. */
#ifndef ABLATE_MAPPED_H
#define ABLATE_MAPPED_H
#include <stdbool.h>
#include <stddef.h>

size_t mapped_from(const void *p, bool writable); /* bytes from p to the end of its segment; 0: none */
bool mapped_text(const char *s);                  /* ends with 0 inside its segment */
bool mapped_list(const void *list);               /* of pointers, ends with NULL inside its segment */
#endif
