/* test_arena.c - allocation, growing arrays, arenas. Under AddressSanitizer this test also shows that no memory
 * leaks. */
#include "base/base.h"
#include "test.h"

static void plain(void)
{
    void *none = xmalloc(0);
    CHECK(none != NULL);
    none = xrealloc(none, 0);
    CHECK(none != NULL);
    free(none);
    int *zeros = xcalloc(100, sizeof *zeros);
    int sum = 0;
    for (int i = 0; i < 100; i++) sum |= zeros[i];
    CHECK_INT(sum, 0);
    free(zeros);
    char *copy = xstrdup("abc"), *part = xstrndup("abcdef", 2), *whole = xstrndup("ab", 9);
    CHECK_TEXT(copy, "abc");
    CHECK_TEXT(part, "ab");
    CHECK_TEXT(whole, "ab");
    free(copy), free(part), free(whole);
    char *text = xprintf("%0*d", 1000, 7);
    CHECK_INT(strlen(text), 1000);
    CHECK_INT(text[999], '7');
    free(text);
}

static void growing(void)
{
    int *list = NULL;
    size_t cap = 0, moves = 0;
    for (int i = 0; i < 10000; i++) {
        size_t was = cap;
        list = grow(list, &cap, (size_t)i + 1, sizeof *list);
        moves += was != cap;
        list[i] = i;
    }
    int wrong = 0;
    for (int i = 0; i < 10000; i++) wrong += list[i] != i;
    CHECK_INT(wrong, 0);
    CHECK(cap >= 10000);
    CHECK(moves < 30); /* capacity grows by a factor, not one by one */
    list = grow(list, &cap, 100000, sizeof *list);
    CHECK(cap >= 100000);
    free(list);
}

static void arenas(void)
{
    arena a = {0};
    for (int round = 0; round < 2; round++) { /* usable again after arena_free */
        unsigned char *kept[500];
        int unaligned = 0, not_zero = 0, overwritten = 0;
        for (int i = 0; i < 500; i++) {
            size_t n = i % 50 == 49 ? 40000 : (size_t)i;
            kept[i] = arena_alloc(&a, n);
            unaligned += (uintptr_t)kept[i] % 16 != 0;
            for (size_t k = 0; k < n; k++) not_zero += kept[i][k] != 0;
            memset(kept[i], i & 255, n);
        }
        for (int i = 0; i < 500; i++)
            for (int k = 0; k < i; k++) overwritten += kept[i][k] != (i & 255);
        CHECK_INT(unaligned, 0);
        CHECK_INT(not_zero, 0);
        CHECK_INT(overwritten, 0);
        CHECK(arena_alloc(&a, 0) != arena_alloc(&a, 0));
        CHECK_TEXT(arena_strdup(&a, "layer"), "layer");
        CHECK_TEXT(arena_strndup(&a, "layers", 5), "layer");
        CHECK_TEXT(arena_printf(&a, "%s.%d", "enc", 12), "enc.12");
        arena_free(&a);
        CHECK(a.head == NULL);
    }
    arena_free(&a);
}

int main(void)
{
    plain();
    growing();
    arenas();
    return test_end();
}
