/* test_vocab.c - every kind of vocabulary: round trips, determinism, stored bytes, refusals, the cache. */
#include "text/tokens/vocab.h"
#include "test.h"
#include <sys/wait.h>
#include <unistd.h>

static const char *const corpus[] = {
    "the small dog sees the big cat .",
    "the big dogs see a small cat .",
    "a cat sleeps on the old sofa .",
    "der kleine Hund sieht die Katze .",
    "die großen Hunde sehen eine Katze .",
    "Ein Mädchen läuft über grünes Gras .",
    "two men are walking to the river .",
    "zwei Männer gehen zum Fluss .",
    "caf\xc3\xa9 \xe2\x82\xac 5, \xf0\x9f\x98\x80 !",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z",
    "in einer \tFont\xc3\xa4ne",
};
enum { N = LENGTH(corpus) };
static const int64_t sizes[TOKENS_KINDS] = {70, 70, 0, 0, 150};

static vocab *train(vocab_kind kind)
{
    err e = {{0}};
    vocab *v = vocab_train(kind, sizes[kind], false, corpus, N, &e);
    CHECK_TEXT(e.text, "");
    if (!v) exit(test_end());
    return v;
}

static void check_round_trip(const vocab *v, const char *line, const char *expected)
{
    err e = {{0}};
    id_list ids = {0};
    str text = {0};
    CHECK_INT(vocab_encode(v, line, &ids, &e), 0);
    for (int64_t i = 0; i < ids.n; i++)
        CHECK(ids.id[i] == VOCAB_UNK || (ids.id[i] >= VOCAB_SPECIALS && ids.id[i] < vocab_size(v)));
    vocab_decode(v, ids.id, ids.n, &text);
    CHECK_TEXT(str_text(&text), expected);
    id_list_free(&ids);
    str_free(&text);
}

static void test_round_trips(void)
{
    for (int k = 0; k < TOKENS_KINDS; k++) {
        vocab *v = train(k);
        for (int i = 0; i < N; i++) check_round_trip(v, corpus[i], corpus[i]);
        check_round_trip(v, "", "");
        check_round_trip(v, "the dog", "the dog");
        if (k == TOKENS_WORDPIECE) {
            check_round_trip(v, "the  dog ", "the dog");
            check_round_trip(v, "the dog\xce\xa9s .", "the " VOCAB_UNK_TEXT " .");
            check_round_trip(v, "catdog .thesofa", "catdog .thesofa");
        } else if (k == TOKENS_WORDS) {
            check_round_trip(v, "the  dog ", "the dog");
            check_round_trip(v, "the zebra sleeps", "the " VOCAB_UNK_TEXT " sleeps");
        } else {
            check_round_trip(v, " two  blanks ", " two  blanks ");
            check_round_trip(v, "dog\xce\xa9s", "dog" VOCAB_UNK_TEXT "s");
            check_round_trip(v, "catdog .thesofa", "catdog .thesofa");
        }
        vocab_free(v);
    }
}

static void test_specials(void)
{
    const char *const names[] = {"<pad>", "<unk>", "<s>", "</s>"};
    for (int k = 0; k < TOKENS_KINDS; k++) {
        vocab *v = train(k);
        CHECK_INT(vocab_kind_of(v), k);
        if (sizes[k]) CHECK_INT(vocab_size(v), sizes[k]);
        for (int i = 0; i < VOCAB_SPECIALS; i++) CHECK_TEXT(vocab_token(v, i), names[i]);
        CHECK_TEXT(vocab_token(v, -1), "<unk>");
        CHECK_TEXT(vocab_token(v, (int32_t)vocab_size(v)), "<unk>");
        /* "</s>" in a text is not the end token. */
        id_list ids = {0};
        err e = {{0}};
        CHECK_INT(vocab_encode(v, "</s> <pad>", &ids, &e), 0);
        for (int64_t i = 0; i < ids.n; i++) CHECK(ids.id[i] == VOCAB_UNK || ids.id[i] >= VOCAB_SPECIALS);
        id_list_free(&ids);
        /* Decoding stops at the end token and prints nothing for <s> and <pad>. */
        CHECK_INT(vocab_encode(v, "the cat", &ids, &e), 0);
        int32_t with[64] = {VOCAB_BOS, VOCAB_PAD};
        int64_t n = 2;
        for (int64_t i = 0; i < ids.n; i++) with[n++] = ids.id[i];
        with[n++] = VOCAB_EOS;
        with[n++] = VOCAB_SPECIALS;
        str text = {0};
        vocab_decode(v, with, n, &text);
        CHECK_TEXT(str_text(&text), "the cat");
        str_clear(&text);
        with[0] = 1000000, with[1] = -7;
        vocab_decode(v, with, 1, &text);
        CHECK_TEXT(str_text(&text), VOCAB_UNK_TEXT);
        str_free(&text);
        id_list_free(&ids);
        vocab_free(v);
    }
}

static void test_order_and_limit(void)
{
    const char *const lines[] = {"b a c a", "a d b"};
    err e = {{0}};
    vocab *v = vocab_train(TOKENS_WORDS, 0, false, lines, 2, &e);
    CHECK_INT(vocab_size(v), VOCAB_SPECIALS + 4);
    CHECK_TEXT(vocab_token(v, VOCAB_SPECIALS), "a");
    CHECK_TEXT(vocab_token(v, VOCAB_SPECIALS + 1), "b");
    CHECK_TEXT(vocab_token(v, VOCAB_SPECIALS + 2), "c");
    CHECK_TEXT(vocab_token(v, VOCAB_SPECIALS + 3), "d");
    vocab_free(v);
    v = vocab_train(TOKENS_WORDS, VOCAB_SPECIALS + 2, false, lines, 2, &e);
    CHECK_INT(vocab_size(v), VOCAB_SPECIALS + 2);
    check_round_trip(v, "a b c", "a b " VOCAB_UNK_TEXT);
    vocab_free(v);
    v = vocab_train(TOKENS_CHAR, 0, false, lines, 2, &e);
    CHECK_INT(vocab_size(v), VOCAB_SPECIALS + 5);
    CHECK_TEXT(vocab_token(v, VOCAB_SPECIALS), " ");
    vocab_free(v);
}

static void test_lowercase(void)
{
    for (int k = 0; k < TOKENS_KINDS; k++) {
        err e = {{0}};
        vocab *v = vocab_train(k, sizes[k], true, corpus, N, &e);
        CHECK_TEXT(e.text, "");
        CHECK(vocab_lowercase(v));
        check_round_trip(v,
                         "Ein M\xc3\x84"
                         "DCHEN",
                         "ein m\xc3\xa4"
                         "dchen");
        str bytes = {0};
        vocab_write(v, &bytes);
        vocab *back = vocab_read(bytes.s, bytes.n, &e);
        check_round_trip(back, "DER KLEINE Hund", "der kleine hund");
        str_free(&bytes);
        vocab_free(back);
        vocab_free(v);
    }
}

static void test_bytes(void)
{
    for (int k = 0; k < TOKENS_KINDS; k++) {
        vocab *v = train(k), *again = train(k);
        str a = {0}, b = {0}, c = {0};
        vocab_write(v, &a);
        vocab_write(again, &b);
        CHECK_INT(a.n, b.n);
        CHECK(a.n == b.n && !memcmp(a.s, b.s, a.n)); /* equal lines give equal bytes */
        err e = {{0}};
        vocab *back = vocab_read(a.s, a.n, &e);
        CHECK_TEXT(e.text, "");
        CHECK_INT(vocab_size(back), vocab_size(v));
        for (int32_t i = 0; i < vocab_size(v); i++) CHECK_TEXT(vocab_token(back, i), vocab_token(v, i));
        for (int i = 0; i < N; i++) check_round_trip(back, corpus[i], corpus[i]);
        vocab_write(back, &c);
        CHECK(a.n == c.n && !memcmp(a.s, c.s, a.n));
        vocab_free(back);

        /* A stored vocabulary that is cut anywhere, or has any byte changed, is refused with a message. */
        for (size_t n = 0; n < a.n; n += 1 + n / 3) {
            e.text[0] = 0;
            CHECK(!vocab_read(a.s, n, &e));
            CHECK(e.text[0]);
        }
        for (size_t at = 0; at < a.n; at += 1 + at / 3) {
            char kept = a.s[at];
            a.s[at] ^= 0x15;
            e.text[0] = 0;
            CHECK(!vocab_read(a.s, a.n, &e));
            CHECK(e.text[0]);
            a.s[at] = kept;
        }
        vocab_free(v);
        vocab_free(again);
        str_free(&a);
        str_free(&b);
        str_free(&c);
    }
}

static void refused(vocab_kind kind, int64_t size, const char *const *lines, int64_t n, const char *words)
{
    err e = {{0}};
    vocab *v = vocab_train(kind, size, false, lines, n, &e);
    CHECK(!v);
    CHECK_HAS(e.text, words);
    vocab_free(v);
}

static void test_refusals(void)
{
    const char *const bad[] = {"fine", "not \xff fine"}, *const empty[] = {"", " "}, *const broken_line[] = {"a\nb"};
    const char *const cut[] = {"\xe2\x82"}, *const surrogate[] = {"\xed\xa0\x80"}, *const overlong[] = {"\xc0\xaf"};
    for (int k = 0; k < TOKENS_KINDS; k++) {
        refused(k, 100, bad, 2, "line 2 of the training text: byte 5 (0xff) is not UTF-8");
        refused(k, 100, cut, 1, "byte 1 (0xe2) is not UTF-8");
        refused(k, 100, surrogate, 1, "byte 1 (0xed) is not UTF-8");
        refused(k, 100, overlong, 1, "byte 1 (0xc0) is not UTF-8");
        refused(k, 100, empty, 2, "found 2 lines, all empty");
        refused(k, 100, empty, 0, "found 0 lines");
        refused(k, 100, broken_line, 1, "line 1 of the training text contains a line end");
        refused(k, 4, corpus, N, "vocab_size 4: expected more than the 4 special tokens");
    }
    refused(TOKENS_BPE, 0, corpus, N, "vocab_size 0: expected more");
    refused(TOKENS_BPE, 10, corpus, N, "vocab_size 10 is too small");
    refused(TOKENS_WORDPIECE, 80, corpus, N,
            "vocab_size 80 is too small: a wordpiece vocabulary has each character twice");
    refused(TOKENS_UNIGRAM, 10, corpus, N, "vocab_size 10 is too small");
    for (int k = 0; k < TOKENS_KINDS; k++) { /* the size that the message suggests works */
        err e = {{0}};
        if (!vocab_cuts_words(k)) continue;
        CHECK(!vocab_train(k, 37000, false, corpus, N, &e));
        CHECK_HAS(e.text, "vocab_size 37000 is too large");
        const char *at = strstr(e.text, "set vocab_size = ");
        int64_t most = at ? atoll(at + strlen("set vocab_size = ")) : 0;
        e.text[0] = 0;
        vocab *v = vocab_train(k, most, false, corpus, N, &e);
        CHECK_TEXT(e.text, "");
        CHECK_INT(v ? vocab_size(v) : 0, most);
        vocab_free(v);
        /* ... and the least possible size works, too */
        e.text[0] = 0;
        CHECK(!vocab_train(k, 10, false, corpus, N, &e));
        at = strstr(e.text, "set vocab_size = ");
        int64_t least = at ? atoll(at + strlen("set vocab_size = ")) : 0;
        e.text[0] = 0;
        v = vocab_train(k, least, false, corpus, N, &e);
        CHECK_TEXT(e.text, "");
        CHECK_INT(v ? vocab_size(v) : 0, least);
        vocab_free(v);
    }
    vocab *v = train(TOKENS_BPE);
    err e = {{0}};
    id_list ids = {0};
    CHECK_INT(vocab_encode(v, "the cat", &ids, &e), 0);
    int64_t n = ids.n;
    CHECK_INT(vocab_encode(v, "the \x80", &ids, &e), -1);
    CHECK_HAS(e.text, "byte 5 (0x80) is not UTF-8");
    CHECK_INT(ids.n, n);
    id_list_free(&ids);
    vocab_free(v);
}

/* Hugging Face's WordPiece, with the same pieces (tests/oracle/wordpiece.py). */
static void test_wordpiece(void)
{
    err e = {{0}};
    str text = {0}, bytes = {0}, found = {0};
    char **lines, sum[65], *rest;
    size_t n;
    CHECK_INT(file_lines(SOURCE_DIR "/tests/unit/tokens/wordpiece_golden.tsv", &text, &lines, &n, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(n, 86);
    if (n != 86) return;
    int64_t pieces = 1;
    size_t length = strlen(lines[0]);
    for (char *c = lines[0]; *c; c++)
        if (*c == ' ') *c = '\n', pieces++;
    lines[0][length] = '\n'; /* replaces the NUL at the end */
    sha256_of(lines[0], length + 1, sum);
    str_addf(&bytes, "ablate-vocab 1 wordpiece %lld mixed %zu %s\n", (long long)pieces + VOCAB_SPECIALS, length + 1,
             sum);
    str_addn(&bytes, lines[0], length + 1);
    vocab *v = vocab_read(bytes.s, bytes.n, &e);
    CHECK_TEXT(e.text, "");
    for (size_t i = 1; v && i < n; i++) {
        id_list ids = {0};
        rest = lines[i];
        const char *line = strsep(&rest, "\t"), *expected = strsep(&rest, "\t");
        CHECK_INT(vocab_encode(v, line, &ids, &e), 0);
        str_clear(&found);
        for (int64_t k = 0; k < ids.n; k++) str_addf(&found, "%s%d", k ? " " : "", ids.id[k]);
        CHECK_TEXT(str_text(&found), expected);
        str_clear(&found);
        vocab_decode(v, ids.id, ids.n, &found);
        CHECK_TEXT(str_text(&found), rest);
        id_list_free(&ids);
    }
    vocab_free(v);
    str_free(&text);
    str_free(&bytes);
    str_free(&found);
    free(lines);
}

/* The two characters that SentencePiece uses itself are handled as vocab.h says. */
static void test_marks(void)
{
    static const char *const blocks[] = {"a \xe2\x96\x85 b", "\xe2\x96\x85"};
    static const char *const some[] = {"a b c", "c \xe2\x96\x81 b a", "z \xe2\x96\x85 y"};
    for (int k = TOKENS_BPE; k <= TOKENS_UNIGRAM; k++) {
        refused(k, 20, blocks, 2, "no line is left to train a");
        refused(k, 20, blocks, 2, "U+2585");
        err e = {{0}};
        vocab *v = vocab_train(k, 8, false, some, 3, &e);
        CHECK_TEXT(e.text, "");
        check_round_trip(v,
                         "a\xe2\x96\x81"
                         "b",
                         "a b");
        check_round_trip(v,
                         "a\xe2\x96\x85"
                         "b",
                         "a" VOCAB_UNK_TEXT "b");
        check_round_trip(v, "z", VOCAB_UNK_TEXT);
        vocab_free(v);
    }
    for (int k = TOKENS_WORDS; k <= TOKENS_CHAR; k++) {
        err e = {{0}};
        vocab *v = vocab_train(k, 0, false, some, 3, &e);
        for (int i = 0; i < 3; i++) check_round_trip(v, some[i], some[i]);
        vocab_free(v);
    }
}

static void test_huge_line(void)
{
    str line = {0};
    while (line.n < 300000) str_add(&line, "a small dog sees the old river . ");
    line.s[line.n - 1] = 0; /* drops the last blank */
    for (int k = 0; k < TOKENS_KINDS; k++) {
        vocab *v = train(k);
        check_round_trip(v, line.s, line.s);
        vocab_free(v);
    }
    const char *const lines[] = {line.s, corpus[0]};
    err e = {{0}};
    vocab *v = vocab_train(TOKENS_BPE, 40, false, lines, 2,
                           &e); /* only the huge line contains "river", so that line must not be skipped */
    CHECK_TEXT(e.text, "");
    check_round_trip(v, "a river", "a river");
    vocab_free(v);
    str_free(&line);
}

static int vocab_files(const char *dir)
{
    char *command = xprintf("ls %s/*.vocab | wc -l", dir);
    FILE *f = popen(command, "r");
    int n = -1;
    if (!f || fscanf(f, "%d", &n) != 1) n = -1;
    if (f) pclose(f);
    free(command);
    return n;
}

static void test_cache(void)
{
    char dir[] = "/tmp/test_vocab.XXXXXX";
    CHECK(mkdtemp(dir));
    char *inner = path_join(dir, "a/b");
    log_to(stderr, LOG_ERROR);
    enum { CHILDREN = 8 };
    pid_t child[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        if ((child[i] = fork())) continue;
        err e = {{0}};
        vocab *v = vocab_with_symbols(inner, TOKENS_BPE, 70, false, NULL, 0, corpus, N, &e);
        int rc = v && vocab_size(v) == 70 ? 0 : 1;
        vocab_free(v);
        _exit(rc);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        waitpid(child[i], &status, 0);
        CHECK_INT(status, 0);
    }
    CHECK_INT(vocab_files(inner), 1);

    err e = {{0}};
    vocab *v =
        /* other lines give another cache file */
        vocab_with_symbols(inner, TOKENS_BPE, 70, false, NULL, 0, corpus, N - 1, &e);
    CHECK_INT(vocab_files(inner), 2);
    vocab_free(v);
    v = vocab_with_symbols(inner, TOKENS_UNIGRAM, 70, false, NULL, 0, corpus, N, &e);
    CHECK_INT(vocab_files(inner), 3);
    const char *other[N];
    memcpy(other, corpus, sizeof other);
    other[0] = "The small dog sees the big cat ."; /* one letter */
    vocab_free(vocab_with_symbols(inner, TOKENS_UNIGRAM, 70, false, NULL, 0, other, N, &e));
    CHECK_INT(vocab_files(inner), 4);
    vocab_free(vocab_with_symbols(inner, TOKENS_UNIGRAM, 70, true, NULL, 0, corpus, N, &e));
    CHECK_INT(vocab_files(inner), 5);
    CHECK_INT(vocab_kind_of(v), TOKENS_UNIGRAM);
    vocab_free(v);

    char *spoil =
        xprintf("for f in %s/*.vocab; do printf x | dd of=$f bs=1 seek=200 conv=notrunc 2>/dev/null; done", inner);
    CHECK_INT(system(spoil), 0);
    /* a damaged cache file is built again */
    v = vocab_with_symbols(inner, TOKENS_BPE, 70, false, NULL, 0, corpus, N, &e);
    CHECK_TEXT(e.text, "");
    for (int i = 0; i < N; i++) check_round_trip(v, corpus[i], corpus[i]);
    vocab_free(v);
    char *clean = xprintf("rm -r %s", dir);
    CHECK_INT(system(clean), 0);
    free(spoil);
    free(clean);
    free(inner);
    log_to(stderr, LOG_INFO);
}

/* Encoding and decoding gives back every line of a real corpus. */
static void test_corpus(const char *name, vocab_kind kind, int64_t size)
{
    const char *data = test_data();
    if (!data) {
        printf("skipped: round trip of %s (no $ABLATE_DATA)\n", name);
        return;
    }
    const char *const sides[] = {"en", "de"};
    str text[2] = {{0}};
    char **lines[2];
    size_t n[2];
    err e = {{0}};
    for (int s = 0; s < 2; s++) {
        char *path = xprintf("%s/%s/train.%s", data, name, sides[s]);
        if (file_lines(path, &text[s], &lines[s], &n[s], &e)) {
            printf("skipped: %s\n", e.text);
            return;
        }
        free(path);
        if (TEST_SANITIZED) n[s] /= 8;
    }
    const char **all = xmalloc((n[0] + n[1]) * sizeof *all);
    memcpy(all, lines[0], n[0] * sizeof *all);
    memcpy(all + n[0], lines[1], n[1] * sizeof *all);
    double start = ticks();
    vocab *v = vocab_train(kind, size, false, all, (int64_t)(n[0] + n[1]), &e);
    CHECK_TEXT(e.text, "");
    double trained = ticks();
    int64_t wrong = 0;
    id_list ids = {0};
    str back = {0};
    for (size_t i = 0; i < n[0] + n[1]; i++) {
        int64_t from = ids.n;
        if (vocab_encode(v, all[i], &ids, &e)) break;
        str_clear(&back);
        vocab_decode(v, ids.id + from, ids.n - from, &back);
        if (!same(str_text(&back), all[i]) && !wrong++) CHECK_TEXT(str_text(&back), all[i]);
    }
    CHECK_TEXT(e.text, "");
    CHECK_INT(wrong, 0);
    printf("%s, %s %lld: trained in %.1f s; %zu lines there and back in %.1f s, %.2f tokens a line\n", name,
           vocab_kind_names[kind], (long long)vocab_size(v), trained - start, n[0] + n[1], ticks() - trained,
           (double)ids.n / (double)(n[0] + n[1]));
    vocab_free(v);
    id_list_free(&ids);
    str_free(&back);
    free(all);
    for (int s = 0; s < 2; s++) {
        str_free(&text[s]);
        free(lines[s]);
    }
}

int main(void)
{
    test_round_trips();
    test_specials();
    test_wordpiece();
    test_order_and_limit();
    test_lowercase();
    test_bytes();
    test_refusals();
    test_marks();
    test_huge_line();
    test_cache();
    test_corpus("multi30k", TOKENS_BPE, 10000);
    test_corpus("multi30k-lctok", TOKENS_CHAR, 0);
    return test_end();
}
