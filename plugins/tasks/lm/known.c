/* known.c - a set of tokens, a hash table with open addressing. It borrows the text. */
#include "known.h"
#include "tasks/memory.h"
#include "tasks/random.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *s;
    size_t n;
} token;
struct known {
    token *slot; /* [slots], a power of two */
    size_t slots, used;
};

size_t known_length(const char *s, int words)
{
    if (words) return strcspn(s, " ");
    size_t n = 1;
    while ((s[n] & 0xc0) == 0x80) n++;
    return n;
}

static token *place(const known *k, const char *s, size_t n)
{
    size_t at = hash_of(s, n) & (k->slots - 1);
    while (k->slot[at].s && (k->slot[at].n != n || memcmp(k->slot[at].s, s, n))) at = (at + 1) & (k->slots - 1);
    return &k->slot[at];
}

static void enlarge(known *k)
{
    known larger = {need(calloc(k->slots * 2, sizeof *larger.slot)), k->slots * 2, k->used};
    for (size_t i = 0; i < k->slots; i++)
        if (k->slot[i].s) *place(&larger, k->slot[i].s, k->slot[i].n) = k->slot[i];
    free(k->slot);
    *k = larger;
}

known *known_new(char *const *line, int64_t n, int words)
{
    enum { FIRST = 1024 };
    known *k = need(calloc(1, sizeof *k));
    *k = (known){need(calloc(FIRST, sizeof *k->slot)), FIRST, 0};
    for (int64_t i = 0; i < n; i++)
        for (const char *s = line[i]; *s;) {
            size_t length = known_length(s, words);
            token *t = length ? place(k, s, length) : NULL;
            if (t && !t->s) {
                *t = (token){s, length};
                if (++k->used * 2 > k->slots) enlarge(k);
            }
            s += length ? length : 1;
        }
    return k;
}

void known_free(known *k)
{
    free(k->slot);
    free(k);
}

int known_has(const known *k, const char *s, size_t n) { return place(k, s, n)->s != NULL; }
