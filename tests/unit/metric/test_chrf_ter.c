/* chrF and TER against sacreBLEU's figures in chrf_ter_golden.tsv, and errors. */
#include "test.h"
#include "golden.h"
#include "text/metric/chrf.h"
#include "text/metric/ter.h"

enum { MAX_LINES = 256, MAX_FIELDS = MAX_LINES + 16, FIELDS = 4 };
static const char *lines[FIELDS][MAX_LINES]; /* lines of field 0, hypotheses, and 1..3, references */
static const char *const *const refs[] = {lines[1], lines[2], lines[3]};
static size_t n_lines;

/* Checks a record: chrf CHAR_ORDER WORD_ORDER BETA LC WHITESPACE EPS N_REFS SIGNATURE SCORE SCORE_OF_LINE.. */
static void check_chrf(char **f, size_t n)
{
    static double stats[MAX_LINES * 3 * CHRF_MOST_ORDERS];
    chrf_options o = {atoi(f[1]), atoi(f[2]), atoi(f[3]), atoi(f[4]), atoi(f[5]), atoi(f[6])};
    chrf_score s = {0};
    double expected;
    CHECK_INT(n, n_lines + 10);
    double sum[CHRF_MOST_STATS] = {0};
    CHECK_INT(chrf_add(&o, lines[0], refs, (size_t)atoi(f[7]), n_lines, sum, stats, NULL), 0);
    chrf_result(&o, sum, (size_t)atoi(f[7]), &s);
    CHECK(parse_real(f[9], &expected));
    CHECK_NEAR(s.score, expected, 1e-9);
    CHECK_HAS(s.signature, f[8]);
    for (size_t i = 0; i < n_lines; i++) {
        CHECK(parse_real(f[10 + i], &expected));
        CHECK_NEAR(chrf_from_stats(stats + i * chrf_width(&o), &o), expected, 1e-7);
    }
}

/* Checks a record: ter CASE_SENSITIVE NORMALIZED NO_PUNCT ASIAN N_REFS SIGNATURE SCORE EDITS_OF_LINE.. */
static void check_ter(char **f, size_t n)
{
    static double stats[MAX_LINES][TER_STATS];
    ter_options o = {atoi(f[1]), atoi(f[2]), atoi(f[3]), atoi(f[4])};
    ter_score s = {0};
    double expected;
    CHECK_INT(n, n_lines + 8);
    double sum[TER_STATS] = {0};
    CHECK_INT(ter_add(&o, lines[0], refs, (size_t)atoi(f[5]), n_lines, sum, stats[0], NULL), 0);
    ter_result(&o, sum, (size_t)atoi(f[5]), &s);
    CHECK(parse_real(f[7], &expected));
    CHECK_NEAR(s.score, expected, 1e-9);
    CHECK_HAS(s.signature, f[6]);
    for (size_t i = 0; i < n_lines; i++) {
        int failed = test_failed;
        CHECK_INT(stats[i][0], atoi(f[8 + i]));
        if (test_failed > failed) printf("  line %zu: %s | %s\n", i + 1, lines[0][i], lines[1][i]);
    }
}

static void check_golden(void)
{
    str text = {0};
    err e = {0};
    char **records = NULL, *f[MAX_FIELDS];
    size_t n_records = 0, checked = 0;
    CHECK_INT(file_lines(SOURCE_DIR "/tests/unit/metric/chrf_ter_golden.tsv", &text, &records, &n_records, &e), 0);
    CHECK_TEXT(e.text, "");
    for (size_t i = 0; i < n_records; i++) {
        int failed = test_failed;
        size_t n = cut(records[i], '\t', f, MAX_FIELDS);
        if (same(f[0], "line")) {
            for (int k = 0; k < FIELDS; k++) lines[k][n_lines] = shown(f[1 + k]);
            n_lines++;
        } else if (same(f[0], "chrf")) {
            check_chrf(f, n), checked++;
        } else if (same(f[0], "ter")) {
            check_ter(f, n), checked++;
        }
        if (test_failed > failed) printf("  in record %zu: %s %s %s %s %s\n", i + 1, f[0], f[1], f[2], f[3], f[4]);
    }
    CHECK_INT(checked, 12 + 18);
    free(records);
    str_free(&text);
}

static void check_errors(void)
{
    const char *good[] = {"a", "b"}, *bad[] = {"a", "b\xff"};
    const char *const *one[] = {bad};
    chrf_options o = CHRF_DEFAULTS;
    ter_options t = {0};
    double s[CHRF_MOST_STATS] = {0}, u[TER_STATS] = {0};
    err e = {0};
    CHECK_INT(chrf_add(&o, good, one, 1, 2, s, NULL, &e), -1);
    CHECK_HAS(e.text, "reference 1, line 2: column 2: byte 0xff is not valid UTF-8");
    e.text[0] = 0;
    CHECK_INT(ter_add(&t, bad, one, 1, 2, u, NULL, &e), -1);
    CHECK_HAS(e.text, "hypotheses, line 2: column 2: byte 0xff is not valid UTF-8");
    e.text[0] = 0;
    CHECK_INT(ter_add(&t, good, one, 0, 2, u, NULL, &e), -1);
    CHECK_HAS(e.text, "no reference");
    e.text[0] = 0;
    str many = {0};
    for (int i = 0; i < 5001; i++) str_add(&many, "a ");
    const char *wide[] = {many.s};
    CHECK_INT(ter_add(&t, wide, one, 1, 1, u, NULL, &e), -1);
    CHECK_HAS(e.text, "hypotheses, line 1: found 5001 words, expected at most 5000");
    str_free(&many);
}

int main(void)
{
    check_golden();
    check_errors();
    return test_end();
}
