#include "text/metric/words.h"
#include <stdlib.h>
#include <string.h>

bool words_next(const int32_t *c, size_t n, size_t *i, size_t *from)
{
    while (*i < n && codes_space(c[*i])) ++*i;
    for (*from = *i; *i < n && !codes_space(c[*i]);) ++*i;
    return *from < *i;
}

static uint64_t hash_of(const int32_t *word, size_t n) /* FNV-1a over numbers */
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++) h = (h ^ (uint32_t)word[i]) * 1099511628211u;
    return h ^ h >> 29;
}

static size_t start_of(const word_numbers *w, size_t number) { return number ? w->ends[number - 1] : 0; }

/* Returns the slot of the word, or a free one for it. */
static uint32_t *slot_of(const word_numbers *w, const int32_t *word, size_t n)
{
    for (size_t at = hash_of(word, n);; at++) {
        uint32_t *slot = &w->slots[at & (w->n_slots - 1)];
        if (!*slot) return slot;
        size_t start = start_of(w, *slot - 1), length = w->ends[*slot - 1] - start;
        if (length == n && !memcmp(w->text.c + start, word, n * sizeof *word)) return slot;
    }
}

static void grow_slots(word_numbers *w)
{
    w->n_slots = w->n_slots ? 2 * w->n_slots : 64;
    free(w->slots);
    w->slots = xcalloc(w->n_slots, sizeof *w->slots);
    for (size_t i = 0; i < w->n; i++) {
        size_t start = start_of(w, i);
        *slot_of(w, w->text.c + start, w->ends[i] - start) = (uint32_t)i + 1;
    }
}

int32_t word_number(word_numbers *w, const int32_t *word, size_t n)
{
    if (2 * (w->n + 1) > w->n_slots) grow_slots(w);
    uint32_t *slot = slot_of(w, word, n);
    if (!*slot) {
        for (size_t i = 0; i < n; i++) codes_add(&w->text, word[i]);
        w->ends = grow(w->ends, &w->cap, w->n + 1, sizeof *w->ends);
        w->ends[w->n++] = (uint32_t)w->text.n;
        *slot = (uint32_t)w->n;
    }
    return (int32_t)(*slot - 1);
}

void word_numbers_clear(word_numbers *w)
{
    w->text.n = w->n = 0;
    if (w->n_slots) memset(w->slots, 0, w->n_slots * sizeof *w->slots);
}

void word_numbers_free(word_numbers *w)
{
    codes_free(&w->text);
    free(w->ends);
    free(w->slots);
    *w = (word_numbers){0};
}
