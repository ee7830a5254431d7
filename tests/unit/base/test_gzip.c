/* test_gzip.c - compressed bytes decompress to themselves, equal bytes give equal files, and damaged files and
 * decompression bombs are refused. */
#include "base/gzip.h"
#include "test.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/ablate-test-gzip-XXXXXX";

static char *in(const char *name) { return path_join(folder, name); }

/* Makes a text of n bytes that compresses to about half. */
static void fill(str *s, size_t n)
{
    rng r = rng_seed(1, 0);
    str_clear(s);
    str_add(s, "");
    while (s->n < n) str_addf(s, "%llu\n", (unsigned long long)rng_below(&r, 1000000));
    s->n = n, s->s[n] = 0;
}

static void test_round(void)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1000000};
    char *a = in("a.gz"), *b = in("b.gz"), *plain = in("plain"), *to = in("unpacked");
    str text = {0}, got = {0}, first = {0}, second = {0};
    err e = {0};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        fill(&text, sizes[i]);
        CHECK_INT(gzip_write(a, str_text(&text), text.n, &e), 0);
        CHECK_INT(gzip_write(b, str_text(&text), text.n, &e), 0);
        CHECK_INT(gzip_write(plain, str_text(&text), text.n, &e), 0);
        CHECK_INT(gzip_read(a, sizes[i], &got, &e), 0);
        CHECK_TEXT(e.text, "");
        CHECK_INT(got.n, sizes[i]);
        CHECK_INT(memcmp(str_text(&got), str_text(&text), got.n), 0);
        CHECK_INT(gzip_read(plain, sizes[i], &got, &e), 0);
        CHECK_INT(got.n, sizes[i]);
        CHECK_INT(file_read(a, &first, &e) || file_read(b, &second, &e), 0);
        CHECK(first.n == second.n && !memcmp(first.s, second.s, first.n));
        CHECK_INT(memcmp(first.s, "\x1f\x8b\x08\0\0\0\0\0", 8), 0); /* header without name or time */
    }
    CHECK(first.n < text.n / 2);
    CHECK_INT(rename(a, to), 0); /* a compressed file with another name is recognised by its header */
    CHECK_INT(gzip_read(to, SIZE_MAX, &got, &e), 0);
    CHECK_INT(got.n, text.n);
    CHECK_INT(gzip_read(b, text.n - 1, &got, &e), -1);
    CHECK_HAS(e.text, "b.gz: found more than 999999 bytes when unpacked");
    int fd = open(to, O_WRONLY | O_TRUNC);
    e.text[0] = 0;
    CHECK_INT(gzip_unpack(b, fd, &e), 0);
    CHECK_INT(gzip_unpack(b, fd, &e), 0);
    close(fd);
    CHECK_INT(file_read(to, &got, &e), 0);
    CHECK_INT(got.n, 2 * text.n);
    str_free(&text), str_free(&got), str_free(&first), str_free(&second);
    free(a), free(b), free(plain), free(to);
}

static void test_several_members(void)
{
    char *one = in("one.gz"), *all = in("all.gz");
    str packed = {0}, got = {0};
    err e = {0};
    CHECK_INT(gzip_write(one, "a\nb\n", 4, &e), 0);
    CHECK_INT(file_read(one, &packed, &e), 0);
    size_t n = packed.n;
    for (int i = 0; i < 2; i++) str_addn(&packed, packed.s, n);
    CHECK_INT(file_write(all, packed.s, packed.n, &e), 0);
    CHECK_INT(gzip_read(all, SIZE_MAX, &got, &e), 0);
    CHECK_TEXT(str_text(&got), "a\nb\na\nb\na\nb\n");
    str_free(&packed), str_free(&got);
    free(one), free(all);
}

static void refused(const char *what, const char *name, const void *data, size_t n, const char *words)
{
    char *path = in(name);
    str got = {0};
    err e = {0};
    CHECK_INT(file_write(path, data, n, &e), 0);
    CHECK_THAT(gzip_read(path, SIZE_MAX, &got, &e) == -1, "%s: was read, expected an error", what);
    CHECK_HAS(e.text, words);
    str_free(&got);
    free(path);
}

static void test_refused(void)
{
    char *path = in("good.gz");
    str text = {0}, packed = {0};
    err e = {0};
    fill(&text, 200000);
    CHECK_INT(gzip_write(path, text.s, text.n, &e), 0);
    CHECK_INT(file_read(path, &packed, &e), 0);
    refused("a plain text", "plain.gz", "text\n", 5, "plain.gz: found something else, expected gzip");
    refused("nothing", "empty.gz", "", 0, "empty.gz: found a file cut short, expected gzip");
    refused("a cut file", "cut.gz", packed.s, packed.n / 2, "cut.gz: found a file cut short");
    refused("a file without its sum", "sum.gz", packed.s, packed.n - 1, "sum.gz: found a file cut short");
    packed.s[packed.n - 6] ^= 1;
    refused("a wrong sum", "wrong.gz", packed.s, packed.n, "wrong.gz: found something else");
    str_clear(&text);
    text.n = 100u << 20;
    text.s = xrealloc(text.s, text.n + 1), text.cap = text.n + 1;
    memset(text.s, 'a', text.n);
    CHECK_INT(gzip_write(path, text.s, text.n, &e), 0);
    CHECK_INT(file_read(path, &packed, &e), 0);
    refused("a bomb", "bomb.gz", packed.s, packed.n, "bomb.gz: found more than 77");
    str_free(&text), str_free(&packed);
    free(path);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    test_round();
    test_several_members();
    test_refused();
    char *clean = xprintf("rm -rf %s", folder);
    if (system(clean)) return 1;
    free(clean);
    return test_end();
}
