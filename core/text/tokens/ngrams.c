/* ngrams.c - n-grams of tokens: characters are code points, the hash is FNV-1a, as in fastText. */
#include "text/tokens/ngrams.h"
#include "base/cleanup.h"
#include "text/tokens/symbols.h"

static uint32_t hash_of(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

int64_t ngrams_of(const vocab *v, int64_t buckets, int32_t **bucket, int32_t **token, arena *a)
{
    int32_t *b = NULL, *t = NULL;
    size_t n = 0, cap_b = 0, cap_t = 0;
    for (int32_t id = VOCAB_SPECIALS; id < vocab_size(v); id++) {
        AUTOFREE char *text = xprintf("<%s>", vocab_token(v, id));
        for (const char *from = text; *from; from += symbol_length(from, false)) {
            const char *to = from;
            for (int k = 1; k <= NGRAM_MOST && *to; k++) {
                to += symbol_length(to, false);
                if (k < NGRAM_LEAST) continue;
                b = grow(b, &cap_b, n + 1, sizeof *b), t = grow(t, &cap_t, n + 1, sizeof *t);
                b[n] = (int32_t)(hash_of(from, (size_t)(to - from)) % (uint64_t)buckets), t[n++] = id;
            }
        }
    }
    *bucket = arena_keep(a, b, n, sizeof *b), *token = arena_keep(a, t, n, sizeof *t);
    return (int64_t)n;
}
