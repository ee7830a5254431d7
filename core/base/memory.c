/* memory.c - allocation that never returns NULL, growing arrays, arenas. */
#include "base/base.h"
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void out_of_memory(size_t n)
{
    if (n)
        fprintf(stderr, "out of memory: cannot allocate %zu bytes\n", n);
    else
        fprintf(stderr, "out of memory\n");
    _exit(1); /* not exit, whose handlers may allocate */
}

static void *got(void *p, size_t n)
{
    if (!p) out_of_memory(n);
    return p;
}

/* Turns zero bytes into one, so that NULL always means a failed allocation. */
static size_t at_least_one(size_t n) { return n ? n : 1; }

void *xmalloc(size_t n) { return got(malloc(at_least_one(n)), n); }

void *xcalloc(size_t n, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(n, size, &all)) out_of_memory(SIZE_MAX);
    return got(calloc(1, at_least_one(all)), all);
}

void *xrealloc(void *p, size_t n) { return got(realloc(p, at_least_one(n)), n); }

char *xstrdup(const char *s) { return xstrndup(s, strlen(s)); }

char *xstrndup(const char *s, size_t n)
{
    n = strnlen(s, n);
    char *copy = xmalloc(n + 1);
    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

/* Returns the printed text, in the arena, or from xmalloc if a is NULL. */
static char *print_into(arena *a, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) cannot_print(fmt);
    char *s = a ? arena_alloc(a, (size_t)n + 1) : xmalloc((size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, args);
    return s;
}

char *xprintf(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *s = print_into(NULL, fmt, args);
    va_end(args);
    return s;
}

void *grow(void *p, size_t *cap, size_t n, size_t size)
{
    if (n <= *cap && p) return p;
    size_t more = *cap + *cap / 2 + 8, bytes;
    if (more < n) more = n;
    if (__builtin_mul_overflow(more, size, &bytes)) out_of_memory(SIZE_MAX);
    p = xrealloc(p, bytes);
    *cap = more;
    return p;
}

/* ---- arenas: a list of blocks; small pieces come from its head ---- */

struct arena_block {
    arena_block *next;
    size_t used, size; /* bytes used and allocated in `bytes` */
    alignas(16) char bytes[];
};
enum { BLOCK_BYTES = 16 * 1024 };

void *arena_alloc(arena *a, size_t n)
{
    if (n > SIZE_MAX / 2) out_of_memory(n);
    n = (at_least_one(n) + 15) & ~(size_t)15;
    arena_block *b = a->head;
    if (!b || b->size - b->used < n) {
        bool large = n > BLOCK_BYTES / 4;
        size_t size = large ? n : BLOCK_BYTES;
        arena_block *fresh = xcalloc(1, sizeof *fresh + size);
        fresh->size = size;
        if (large && b) { /* inserts it after the head, which still has room for small pieces */
            fresh->next = b->next;
            b->next = fresh;
        } else {
            fresh->next = b;
            a->head = fresh;
        }
        b = fresh;
    }
    void *p = b->bytes + b->used;
    b->used += n;
    return p;
}

char *arena_strdup(arena *a, const char *s) { return arena_strndup(a, s, strlen(s)); }

char *arena_strndup(arena *a, const char *s, size_t n)
{
    n = strnlen(s, n);
    char *copy = arena_alloc(a, n + 1);
    memcpy(copy, s, n);
    return copy;
}

char *arena_printf(arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *s = print_into(a, fmt, args);
    va_end(args);
    return s;
}

void free_texts(char **texts, size_t n)
{
    for (size_t i = 0; i < n; i++) free(texts[i]);
    free(texts);
}

void *arena_keep(arena *a, void *list, size_t n, size_t size)
{
    void *kept = arena_alloc(a, (n + 1) * size);
    if (n) memcpy(kept, list, n * size);
    free(list);
    return kept;
}

void arena_free(arena *a)
{
    for (arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    a->head = NULL;
}
