/* BLEU against sacreBLEU's figures in bleu_golden.tsv; also errors, invalid text and options. */
#include "test.h"
#include "golden.h"
#include "text/metric/bleu.h"
#include "text/metric/ngrams.h"
#include "text/metric/words.h"

enum { MAX_LINES = 256, MAX_FIELDS = MAX_LINES + 16, FIELDS = 4 };
static const char *lines[FIELDS][MAX_LINES]; /* lines of field 0, hypotheses, and 1..3, references */
static size_t n_lines;

static bleu_options options(const char *tok, const char *lowercase, const char *smooth)
{
    bleu_options o;
    err e = {0};
    CHECK_INT(bleu_options_parse(&o, tok, lowercase[0] == '1', smooth, &e), 0);
    CHECK_TEXT(e.text, "");
    return o;
}

static void add_code(str *out, int32_t c)
{
    const int bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const int first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    str_addc(out, (char)(first[bytes] | c >> 6 * (bytes - 1)));
    for (int k = bytes - 2; k >= 0; k--) str_addc(out, (char)(0x80 | (c >> 6 * k & 0x3f)));
}

/* Appends a line's tokens as BLEU compares them, separated by spaces. */
static void add_words(const bleu_options *o, const char *line, str *out)
{
    codes text = {0}, lowered = {0}, spare = {0};
    err e = {0};
    CHECK_INT(codes_decode(&text, line, &e), 0);
    if (o->lowercase) codes_lower(&text, &lowered);
    codes *t = o->lowercase ? &lowered : &text;
    tokenize(o->tok, t, &spare);
    const char *between = "";
    for (size_t i = 0, from; words_next(t->c, t->n, &i, &from); between = " ") {
        str_add(out, between);
        for (size_t k = from; k < i; k++) add_code(out, t->c[k]);
    }
    codes_free(&text), codes_free(&lowered), codes_free(&spare);
}

/* Checks a record: words TOK LC FIELD INDEX:WORDS.. */
static void check_words(char **f, size_t n)
{
    bleu_options o = options(f[1], f[2], NULL);
    bleu_options plain = options("none", "0", NULL);
    const char *const *text = lines[atoi(f[3])];
    size_t next = 4;
    for (size_t i = 0; i < n_lines; i++) {
        str found = {0}, expected = {0};
        char *words = next < n && (size_t)atoi(f[next]) == i ? strchr(f[next++], ':') + 1 : NULL;
        if (words)
            str_add(&expected, shown(words));
        else
            add_words(&plain, text[i], &expected);
        add_words(&o, text[i], &found);
        CHECK_TEXT(str_text(&found), str_text(&expected));
        str_free(&found);
        str_free(&expected);
    }
    CHECK_INT(next, n);
}

/* Checks a record: stats TOK LC N_REFS ROW.. */
static void check_stats(char **f, size_t n)
{
    static double stats[MAX_LINES][BLEU_STATS];
    bleu_options o = options(f[1], f[2], NULL);
    bleu_score score;
    const char *const *refs[] = {lines[1], lines[2], lines[3]};
    CHECK_INT(n, n_lines + 4);
    CHECK_INT(bleu_corpus(&o, lines[0], refs, (size_t)atoi(f[3]), n_lines, &score, stats[0], NULL), 0);
    for (size_t i = 0; i < n_lines; i++) {
        char *numbers[BLEU_STATS + 1];
        CHECK_INT(cut(f[4 + i], ' ', numbers, BLEU_STATS + 1), BLEU_STATS);
        for (size_t k = 0; k < BLEU_STATS; k++) CHECK_INT(stats[i][k], atoi(numbers[k]));
    }
}

/* Checks a record: corpus FIRST N N_REFS TOK LC SMOOTH SIGNATURE SCORE P1 P2 P3 P4 BP; a single `=` stands for the last
 * six values of the record before */
static void check_corpus(char **f, size_t n)
{
    static double expected[6], stats[MAX_LINES][BLEU_STATS];
    double sum[BLEU_STATS] = {0};
    size_t first = (size_t)atoi(f[1]), count = (size_t)atoi(f[2]);
    bleu_options o = options(f[4], f[5], f[6]);
    bleu_score score = {0};
    const char *const *refs[] = {lines[1] + first, lines[2] + first, lines[3] + first};
    if (n == 14) {
        for (int k = 0; k < 6; k++) CHECK(parse_real(f[8 + k], &expected[k]));
    } else {
        CHECK_TEXT(f[8], "=");
    }
    CHECK_INT(bleu_corpus(&o, lines[0] + first, refs, (size_t)atoi(f[3]), count, &score, stats[0], NULL), 0);
    CHECK_NEAR(score.score, expected[0], 1e-7);
    for (int k = 0; k < BLEU_ORDERS; k++) CHECK_NEAR(score.precisions[k], expected[1 + k], 1e-7);
    CHECK_NEAR(score.bp, expected[5], 1e-9);
    CHECK_HAS(score.signature, f[7]);
    CHECK_HAS(score.signature, "|version:ablate-");
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < BLEU_STATS; k++) sum[k] += stats[i][k];
    CHECK_NEAR(bleu_from_stats(sum, &o), score.score, 0);
    CHECK_INT(score.sys_len, sum[0]);
    CHECK_INT(score.ref_len, sum[1]);
    for (int k = 0; k < BLEU_ORDERS; k++) {
        CHECK_INT(score.counts[k], sum[2 + k]);
        CHECK_INT(score.totals[k], sum[6 + k]);
    }
}

static void check_golden(void)
{
    str text = {0};
    err e = {0};
    char **records = NULL, *f[MAX_FIELDS];
    size_t n_records = 0, checked = 0;
    CHECK_INT(file_lines(SOURCE_DIR "/tests/unit/metric/bleu_golden.tsv", &text, &records, &n_records, &e), 0);
    CHECK_TEXT(e.text, "");
    for (size_t i = 0; i < n_records; i++) {
        int failed = test_failed;
        size_t n = cut(records[i], '\t', f, MAX_FIELDS);
        if (same(f[0], "line")) {
            for (int k = 0; k < FIELDS; k++) lines[k][n_lines] = shown(f[1 + k]);
            n_lines++;
        } else if (same(f[0], "words")) {
            check_words(f, n), checked++;
        } else if (same(f[0], "stats")) {
            check_stats(f, n), checked++;
        } else if (same(f[0], "corpus")) {
            check_corpus(f, n), checked++;
        }
        if (test_failed > failed) printf("  in record %zu: %s %s %s\n", i + 1, f[0], f[1], f[2]);
    }
    CHECK(checked > 100);
    free(records);
    str_free(&text);
}

static void check_by_hand(void)
{
    /* Papineni et al. 2002, section 2.1: of seven "the", the reference has two. */
    const char *hyp[] = {"the the the the the the the"}, *ref[] = {"the cat is on the mat"};
    const char *const *refs[] = {ref};
    bleu_options o = {0};
    bleu_score s;
    CHECK_INT(bleu_corpus(&o, hyp, refs, 1, 1, &s, NULL, NULL), 0);
    CHECK_NEAR(s.precisions[0], 100 * 2. / 7, 1e-12);
    CHECK_NEAR(s.bp, 1, 0);
    /* orders 2, 3, 4 have no match: 1/2 of 6, 1/4 of 5, 1/8 of 4 */
    CHECK_NEAR(s.score, 100 * pow(2. / 7 / 12 / 20 / 32, 0.25), 1e-10);
    CHECK_HAS(s.signature, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:ablate-");
}

static void check_errors(void)
{
    bleu_options o;
    bleu_score s;
    const char *good[] = {"a", "b"}, *bad[] = {"a", "b\xff"}, *surrogate[] = {"\xed\xa0\x80", "b"},
               *cut_off[] = {"a", "\xe2\x82"};
    const char *const *refs[] = {good, bad};
    err e = {0};
    CHECK_INT(bleu_options_parse(&o, "13b", false, NULL, &e), -1);
    CHECK_HAS(e.text, "\"13b\"");
    CHECK_HAS(e.text, "did you mean \"13a\"");
    static const char *const smooths[][2] = {
        {"exp=1", "takes no value"},         {"floor=", "floor=X"}, {"floor=-1", "X >= 0"}, {"add-k=x", "add-k=X"},
        {"add_k", "did you mean \"add-k\""}, {"", "one of"}};
    for (size_t i = 0; i < LENGTH(smooths); i++) {
        e = (err){0};
        CHECK_INT(bleu_options_parse(&o, NULL, false, smooths[i][0], &e), -1);
        CHECK_HAS(e.text, smooths[i][1]);
    }
    CHECK_INT(bleu_options_parse(&o, NULL, false, NULL, NULL), 0);
    CHECK_INT(bleu_corpus(&o, good, refs, 2, 1, &s, NULL, NULL), 0);
    e = (err){0};
    CHECK_INT(bleu_corpus(&o, good, refs, 2, 2, &s, NULL, &e), -1);
    CHECK_HAS(e.text, "reference 2, line 2: column 2: byte 0xff");
    e = (err){0};
    CHECK_INT(bleu_corpus(&o, surrogate, refs, 1, 2, &s, NULL, &e), -1);
    CHECK_HAS(e.text, "hypotheses, line 1: column 1: byte 0xed");
    e = (err){0};
    CHECK_INT(bleu_corpus(&o, cut_off, refs, 1, 2, &s, NULL, &e), -1);
    CHECK_HAS(e.text, "hypotheses, line 2: column 1: byte 0xe2");
    e = (err){0};
    CHECK_INT(bleu_corpus(&o, good, refs, 0, 2, &s, NULL, &e), -1);
    CHECK_HAS(e.text, "no reference");
    e = (err){0};
    CHECK_INT(bleu_corpus(&o, good, refs, 1, 0, &s, NULL, &e), -1);
    CHECK_HAS(e.text, "no sentences");
}

/* A line of many words makes the table of n-grams grow ... */
static void check_long(void)
{
    str text = {0};
    bleu_options o = {.tok = TOK_none};
    bleu_score s;
    for (int i = 0; i < 20000; i++) str_addf(&text, "w%d ", i % 7001);
    const char *line[] = {str_text(&text)};
    const char *const *refs[] = {line};
    CHECK_INT(bleu_corpus(&o, line, refs, 1, 1, &s, NULL, NULL), 0);
    CHECK_NEAR(s.score, 100, 1e-9);
    CHECK_INT(s.totals[3], 19997);
    str_free(&text);
}

/* ... but short lines after it need not clear the whole table. */
static void check_short_after_long(void)
{
    ngrams g = {0};
    codes text = {0};
    str words = {0};
    for (int i = 0; i < 20000; i++) str_addf(&words, "w%d ", i);
    CHECK_INT(codes_decode(&text, str_text(&words), NULL), 0);
    CHECK_INT(ngrams_add(&g, &text, true), 20000);
    size_t large = g.n_slots;
    ngrams_clear(&g); /* the next line may be as long */
    CHECK_INT(g.n_slots, large);
    for (int i = 0; i < 3; i++) {
        double matches[NGRAM_ORDERS], totals[NGRAM_ORDERS];
        CHECK_INT(codes_decode(&text, "a b a b", NULL), 0);
        CHECK_INT(ngrams_add(&g, &text, true), 4);
        CHECK_INT(ngrams_add(&g, &text, false), 4);
        ngrams_match(&g, matches, totals);
        CHECK_NEAR(matches[0], 4, 0);
        CHECK_NEAR(totals[3], 1, 0);
        ngrams_clear(&g);
        CHECK(g.n_slots <= large / 64);
    }
    ngrams_free(&g);
    codes_free(&text);
    str_free(&words);
}

int main(void)
{
    check_golden();
    check_by_hand();
    check_errors();
    check_long();
    check_short_after_long();
    return test_end();
}
