/* The n-grams of tokens, in order, and their buckets by FNV-1a (computed by another program). */
#include "test.h"
#include "text/tokens/ngrams.h"

int main(void)
{
    static const char *const lines[] = {"dog dog dog n\xc3\xa9 n\xc3\xa9 a"};
    static const int32_t buckets[] = {845, 342, 387, 492, 817, 517,
                                      635, 263, 616,               /* <d <do <dog do dog dog> og og> g> */
                                      655, 143, 939, 285, 97,  13, /* n\xe9: n-grams are of characters, not of bytes */
                                      750, 600, 806};
    static const int32_t of[] = {9, 6, 3}; /* n-grams per token */
    err e = {0};
    arena a = {0};
    int32_t *bucket, *token;
    vocab *v = vocab_train(TOKENS_WORDS, 0, false, lines, 1, &e);
    CHECK_TEXT(e.text, "");
    if (!v) return test_end();
    int64_t n = ngrams_of(v, 1000, &bucket, &token, &a);
    CHECK_INT(n, LENGTH(buckets));
    for (int64_t i = 0, id = 0, left = of[0]; i < n; i++) {
        CHECK_INT(bucket[i], buckets[i]);
        CHECK_INT(token[i], VOCAB_SPECIALS + id);
        if (!--left && id < 2) left = of[++id];
    }
    n = ngrams_of(v, 7, &bucket, &token, &a);
    for (int64_t i = 0; i < n; i++) CHECK(bucket[i] >= 0 && bucket[i] < 7);
    vocab_free(v);
    arena_free(&a);
    return test_end();
}
