/* symbols.c - counts and numbers words or characters. */
#include "text/tokens/symbols.h"
#include "base/cleanup.h"
#include <stdlib.h>
#include <string.h>

size_t symbol_length(const char *s, bool words)
{
    if (words) return strcspn(s, " ");
    size_t n = 1;
    while (((unsigned char)s[n] & 0xc0) == 0x80) n++;
    return n;
}

/* Returns the slot of s[n], or the empty slot where it belongs. */
static size_t place(const symbols *t, const char *s, size_t n)
{
    size_t i = hash64(s, n) & (t->slots - 1);
    while (t->slot[i] >= 0) {
        const char *have = t->text[t->slot[i]];
        if (!strncmp(have, s, n) && !have[n]) break;
        i = (i + 1) & (t->slots - 1);
    }
    return i;
}

/* Indexes every text, with enough free slots to double the number of texts. */
static void index_all(symbols *t)
{
    size_t slots = 64;
    while (slots < 4 * (size_t)t->n) slots *= 2;
    t->slot = xrealloc(t->slot, slots * sizeof *t->slot);
    t->slots = slots;
    for (size_t i = 0; i < slots; i++) t->slot[i] = -1;
    for (int64_t k = 0; k < t->n; k++) t->slot[place(t, t->text[k], strlen(t->text[k]))] = (int32_t)k;
}

int64_t symbols_add(symbols *t, const char *s, size_t n)
{
    if (2 * (size_t)t->n >= t->slots) index_all(t);
    size_t i = place(t, s, n);
    if (t->slot[i] >= 0) return t->slot[i];
    t->text = grow(t->text, &t->cap, (size_t)t->n + 1, sizeof *t->text);
    t->text[t->n] = arena_strndup(&t->memory, s, n);
    return t->slot[i] = (int32_t)t->n++;
}

typedef struct {
    int64_t count, first; /* first: rank by order of first occurrence */
    char *text;
} ranked;

static int by_count(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->first < y->first ? -1 : 1;
}

void symbols_count(symbols *t, bool words, int64_t most, const char *const *lines, int64_t n)
{
    *t = (symbols){0};
    size_t cap = 0;
    AUTOFREE ranked *rank = NULL;
    for (int64_t l = 0; l < n; l++) {
        for (const char *s = lines[l]; *s;) {
            size_t length = symbol_length(s, words);
            if (length) {
                int64_t before = t->n, k = symbols_add(t, s, length);
                rank = grow(rank, &cap, (size_t)t->n, sizeof *rank);
                if (k == before) rank[k] = (ranked){0, k, t->text[k]};
                rank[k].count++;
            }
            s += length;
            if (words && *s) s++;
        }
    }
    if (t->n) qsort(rank, (size_t)t->n, sizeof *rank, by_count);
    if (most && t->n > most) t->n = most;
    for (int64_t k = 0; k < t->n; k++) t->text[k] = rank[k].text;
    index_all(t);
}

int symbols_read(symbols *t, const char *data, size_t n, int64_t expected, err *e)
{
    *t = (symbols){0};
    int64_t lines = 0;
    index_all(t);
    for (const char *s = data, *end = data + n; s < end; lines++) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop) stop = end;
        symbols_add(t, s, (size_t)(stop - s));
        s = stop + 1;
    }
    if (lines != expected)
        fail(e, "found %lld symbols, expected %lld", (long long)lines, (long long)expected);
    else if (t->n != lines)
        fail(e, "a symbol occurs twice");
    else
        return 0;
    symbols_free(t);
    return -1;
}

int32_t symbols_find(const symbols *t, const char *s, size_t n)
{
    int32_t k = t->slot[place(t, s, n)];
    return k < 0 ? VOCAB_UNK : k + VOCAB_SPECIALS;
}

void symbols_free(symbols *t)
{
    free(t->text);
    free(t->slot);
    arena_free(&t->memory);
    *t = (symbols){0};
}
