/* test_sha256.c - SHA-256 against the examples of FIPS 180-4 and NIST's CAVP; FNV-1a against its authors' table. */
#include "base/base.h"
#include "test.h"
#include <unistd.h>

static void vectors(void)
{
    static const struct {
        const char *text, *hex;
    } cases[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                 {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                 {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
                 {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlm"
                  "nopqrsmnopqrstnopqrstu",
                  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"}};
    char hex[65];
    for (size_t i = 0; i < LENGTH(cases); i++) {
        sha256_of(cases[i].text, strlen(cases[i].text), hex);
        CHECK_TEXT(hex, cases[i].hex);
    }
    static char a[1000000];
    memset(a, 'a', sizeof a);
    sha256_of(a, sizeof a, hex);
    CHECK_TEXT(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Around the block size, texts hashed in unequal parts have the hash of the whole text. */
static void parts(void)
{
    char data[200], whole[65], hex[65];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i * 31);
    int differ = 0;
    for (size_t n = 0; n <= sizeof data; n++) {
        sha256_of(data, n, whole);
        for (size_t step = 1; step < 70; step += 7) {
            sha256 s;
            sha256_init(&s);
            for (size_t at = 0; at < n; at += step) sha256_add(&s, data + at, n - at < step ? n - at : step);
            sha256_add(&s, data, 0);
            sha256_hex(&s, hex);
            differ += strcmp(hex, whole) != 0;
        }
    }
    CHECK_INT(differ, 0);
    sha256_of(data, 55, hex);
    char other[65];
    sha256_of(data, 56, other);
    CHECK(strcmp(hex, other));
}

static void files(void)
{
    char path[] = "/tmp/ablate-test-sha-XXXXXX", hex[65] = "untouched";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, "abc", 3), 3);
    close(fd);
    err e = {0};
    CHECK_INT(sha256_file(path, hex, &e), 0);
    CHECK_TEXT(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    unlink(path);
    CHECK_INT(sha256_file(path, hex, &e), -1);
    CHECK_HAS(e.text, "cannot be opened");
    e = (err){0};
    CHECK_INT(sha256_file("/tmp", hex, &e), -1);
    CHECK_HAS(e.text, "found a folder, expected a file");
}

static void fnv(void)
{
    CHECK(hash64("", 0) == 0xcbf29ce484222325);
    CHECK(hash64("a", 1) == 0xaf63dc4c8601ec8c);
    CHECK(hash64("foobar", 6) == 0x85944171f73967e8);
}

int main(void)
{
    vectors();
    parts();
    files();
    fnv();
    return test_end();
}
