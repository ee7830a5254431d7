/* cleanup.h - frees what a local variable owns when its scope ends, also by return.
 *
 *     AUTOFREE char *path = path_join(folder, name);    calls free(path)
 *     CLEANUP(str_free) str text = {0};                 calls str_free(&text)
 */
#ifndef ABLATE_CLEANUP_H
#define ABLATE_CLEANUP_H
#include <stdlib.h>
#include <string.h>

#define CLEANUP(f) __attribute__((cleanup(f)))
#define AUTOFREE   CLEANUP(free_pointer)

static inline void free_pointer(void *variable)
{
    void *p;
    memcpy(&p, variable, sizeof p); /* `variable` points to a pointer of any type */
    free(p);
}
#endif
