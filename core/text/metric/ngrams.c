#include "text/metric/ngrams.h"
#include <stdlib.h>
#include <string.h>

/* One table has both words and n-grams. An n-gram's key is (entry of its first n-1 words, entry of its last word), so
 * each word of a text adds its n-grams in one step. */
#define NO_PREFIX UINT32_MAX

enum { FIRST_SLOTS = 1024, MOST_CLEARED = 16 }; /* MOST_CLEARED: a table with more slots per entry is freed */

/* Frees the table after a long sentence, because clearing it would cost time for every later sentence. */
void ngrams_clear(ngrams *g)
{
    if (g->n_slots > FIRST_SLOTS && g->n_slots > MOST_CLEARED * g->n) {
        free(g->slots);
        g->slots = NULL;
        g->n_slots = 0;
    }
    g->text.n = g->n = 0;
    g->n_refs = 0;
    if (g->slots) memset(g->slots, 0, g->n_slots * sizeof *g->slots);
}

void ngrams_free(ngrams *g)
{
    codes_free(&g->text);
    free(g->entries);
    free(g->slots);
    *g = (ngrams){0};
}

static uint64_t hash_word(const int32_t *c, size_t n) { return hash64(c, n * sizeof *c); }

static uint64_t hash_pair(uint32_t first, uint32_t last)
{
    uint64_t h = ((uint64_t)first << 32 | last) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static uint64_t hash_entry(const ngrams *g, const ngram *k)
{
    return k->order ? hash_pair(k->first, k->last) : hash_word(g->text.c + k->first, k->last - k->first);
}

static void rehash(ngrams *g)
{
    g->n_slots = g->n_slots ? 2 * g->n_slots : FIRST_SLOTS;
    free(g->slots);
    g->slots = xcalloc(g->n_slots, sizeof *g->slots);
    for (size_t i = 0; i < g->n; i++) {
        size_t at = hash_entry(g, &g->entries[i]) & (g->n_slots - 1);
        while (g->slots[at]) at = (at + 1) & (g->n_slots - 1);
        g->slots[at] = (uint32_t)i + 1;
    }
}

static uint32_t append(ngrams *g, size_t slot, ngram entry)
{
    if (g->n == g->cap) g->entries = grow(g->entries, &g->cap, g->n + 1, sizeof *g->entries);
    g->entries[g->n++] = entry;
    g->slots[slot] = (uint32_t)g->n;
    return (uint32_t)g->n - 1;
}

/* The entry of word c[0..n). */
static uint32_t find_word(ngrams *g, const int32_t *c, size_t n)
{
    if (2 * (g->n + 1) > g->n_slots) rehash(g);
    size_t at = hash_word(c, n) & (g->n_slots - 1);
    for (; g->slots[at]; at = (at + 1) & (g->n_slots - 1)) {
        const ngram *k = &g->entries[g->slots[at] - 1];
        if (k->order == 0 && k->last - k->first == n && !memcmp(g->text.c + k->first, c, n * sizeof *c))
            return g->slots[at] - 1;
    }
    uint32_t from = (uint32_t)g->text.n;
    for (size_t i = 0; i < n; i++) codes_add(&g->text, c[i]);
    return append(g, at, (ngram){.first = from, .last = from + (uint32_t)n});
}

/* The entry of the n-gram of this order that continues `prefix` with `word`. */
static uint32_t find_ngram(ngrams *g, uint32_t prefix, uint32_t word, uint32_t order)
{
    if (2 * (g->n + 1) > g->n_slots) rehash(g);
    size_t at = hash_pair(prefix, word) & (g->n_slots - 1);
    for (; g->slots[at]; at = (at + 1) & (g->n_slots - 1)) {
        const ngram *k = &g->entries[g->slots[at] - 1];
        if (k->order == order && k->first == prefix && k->last == word) return g->slots[at] - 1;
    }
    return append(g, at, (ngram){.first = prefix, .last = word, .order = order});
}

static void count(ngram *k, bool hypothesis, uint32_t ref)
{
    if (hypothesis) {
        k->in_hyp++;
        return;
    }
    if (k->this_ref != ref) k->this_ref = ref, k->in_this = 0;
    if (++k->in_this > k->in_ref) k->in_ref = k->in_this;
}

int64_t ngrams_add(ngrams *g, const codes *tokenized, bool hypothesis)
{
    const int32_t *c = tokenized->c;
    uint32_t open[NGRAM_ORDERS]; /* entries of the n-grams of order 1, 2, .. that end at the last word */
    uint32_t n_open = 0;
    int64_t words = 0;
    if (!hypothesis) g->n_refs++;
    for (size_t i = 0, from; words_next(c, tokenized->n, &i, &from);) {
        uint32_t word = find_word(g, c + from, i - from);
        if (n_open < NGRAM_ORDERS) n_open++;
        for (uint32_t order = n_open; order >= 1; order--) {
            uint32_t prefix = order == 1 ? NO_PREFIX : open[order - 2];
            open[order - 1] = find_ngram(g, prefix, word, order);
            count(&g->entries[open[order - 1]], hypothesis, g->n_refs);
        }
        words++;
    }
    return words;
}

void ngrams_match(const ngrams *g, double matches[NGRAM_ORDERS], double totals[NGRAM_ORDERS])
{
    for (int k = 0; k < NGRAM_ORDERS; k++) matches[k] = totals[k] = 0;
    for (size_t i = 0; i < g->n; i++) {
        const ngram *k = &g->entries[i];
        if (k->order == 0) continue;
        totals[k->order - 1] += k->in_hyp;
        matches[k->order - 1] += k->in_hyp < k->in_ref ? k->in_hyp : k->in_ref;
    }
}
