/* Vocabularies with symbols: such words are one token each, between words split into subwords. */
#include "test.h"
#include "text/tokens/vocab.h"
#include <stdlib.h>
#include <unistd.h>

static const char *const symbols[] = {"(S", ")S", "(SBAR", ")SBAR", "(NP", ")NP", "(A,\"B", ")A,\"B", "(RARE", ")RARE"};
enum { SYMBOLS = 10, N = 400 };
static char *lines[N];

/* Makes lines with nested symbols around made-up words; the last pairs of characters are rare. */
static void make_lines(void)
{
    static const char *const parts[] = {"bar", "ti", "no", "mel", "quo", "s", "er"};
    rng r = rng_seed(3, 1);
    for (int i = 0; i < N; i++) {
        str s = {0};
        for (int k = 0; k < 6; k++) {
            int pair = i == 7 && k == 3 ? 4 : (int)rng_below(&r, 4);
            str_addf(&s, "%s%s ", k ? " " : "", symbols[2 * pair]);
            for (int j = 0; j < 3; j++) str_add(&s, parts[rng_below(&r, LENGTH(parts))]);
            str_addf(&s, " %s", symbols[2 * pair + 1]);
        }
        lines[i] = xstrdup(str_text(&s));
        str_free(&s);
    }
}

static void check_encoding(const vocab *v, const char *line)
{
    err e = {0};
    id_list whole = {0}, part = {0};
    str back = {0};
    size_t n;
    CHECK_INT(vocab_encode(v, line, &whole, &e), 0);
    vocab_decode(v, whole.id, whole.n, &back);
    CHECK_TEXT(str_text(&back), line);
    /* Word by word the tokens are the same: a symbol is one token, and no token contains a blank. */
    char *copy = xstrdup(line), *rest = copy;
    for (char *w; (w = strtok_r(NULL, " ", &rest));) {
        int64_t from = part.n;
        CHECK_INT(vocab_encode(v, w, &part, &e), 0);
        if (*w == '(' || *w == ')') CHECK_INT(part.n - from, 1);
        if (*w == '(' || *w == ')') CHECK_TEXT(vocab_token(v, part.id[from]) + (vocab_pieces(v, &n) ? 3 : 0), w);
    }
    CHECK_INT(whole.n, part.n);
    CHECK(!memcmp(whole.id, part.id, (size_t)part.n * sizeof *part.id));
    free(copy);
    id_list_free(&whole);
    id_list_free(&part);
    str_free(&back);
}

static void check_kind(vocab_kind kind, int64_t size)
{
    err e = {0};
    vocab *v = vocab_with_symbols(NULL, kind, size, false, symbols, SYMBOLS, (const char *const *)lines, N, &e);
    CHECK_TEXT(e.text, "");
    if (!v) return;
    for (int i = 0; i < N; i += 7) check_encoding(v, lines[i]);
    const char *nested = kind == TOKENS_WORDS ? "(SBAR (S (RARE )RARE )S )SBAR" : "(SBAR (S (RARE barti )RARE )S )SBAR";
    check_encoding(v, nested);
    if (kind != TOKENS_WORDS) check_encoding(v, "(A,\"B no )A,\"B");
    str bytes = {0};
    vocab_write(v, &bytes);
    vocab *again = vocab_read(bytes.s, bytes.n, &e);
    CHECK(again != NULL);
    if (again) check_encoding(again, nested);
    vocab_free(again);
    vocab_free(v);
    str_free(&bytes);
}

/* The cache of vocabularies depends on the symbols. */
static void check_cache(void)
{
    char dir[] = "/tmp/ablate-symbols-XXXXXX";
    err e = {0};
    CHECK(mkdtemp(dir) != NULL);
    vocab *with = vocab_with_symbols(dir, TOKENS_BPE, 80, false, symbols, SYMBOLS, (const char *const *)lines, N, &e),
          *without = vocab_with_symbols(dir, TOKENS_BPE, 80, false, NULL, 0, (const char *const *)lines, N, &e),
          *again = vocab_with_symbols(dir, TOKENS_BPE, 80, false, symbols, SYMBOLS, (const char *const *)lines, N, &e);
    CHECK_TEXT(e.text, "");
    id_list a = {0}, b = {0}, c = {0};
    CHECK_INT(vocab_encode(with, "(RARE", &a, &e) | vocab_encode(without, "(RARE", &b, &e) |
                  vocab_encode(again, "(RARE", &c, &e),
              0);
    CHECK_INT(a.n, 1);
    CHECK(b.n > 1);
    CHECK_INT(c.n, 1);
    id_list_free(&a);
    id_list_free(&b);
    id_list_free(&c);
    vocab_free(with);
    vocab_free(without);
    vocab_free(again);
    char *command = xprintf("rm -r %s", dir);
    CHECK_INT(system(command), 0);
    free(command);
}

int main(void)
{
    make_lines();
    check_kind(TOKENS_BPE, 80);
    check_kind(TOKENS_UNIGRAM, 60);
    check_kind(TOKENS_WORDS, 0);
    check_kind(TOKENS_WORDPIECE, 90);
    check_cache();
    for (int i = 0; i < N; i++) free(lines[i]);
    return test_end();
}
