/* ablate's EVALB prints EVALB's own output for EVALB's sample; for small pairs it gives the figures that EVALB gave. */
#include "test.h"
#include "golden.h"
#include "text/metric/evalb/evalb.h"

typedef struct {
    str text;
    char **line;
    size_t n;
} file;

static char *data_path(const char *name)
{
    char *folder = path_join(test_data(), "evalb"), *path = path_join(folder, name);
    free(folder);
    return path;
}

static file read_data(const char *name)
{
    file f = {0};
    err e = {0};
    char *path = data_path(name);
    CHECK_INT(file_lines(path, &f.text, &f.line, &f.n, &e), 0);
    CHECK_TEXT(e.text, "");
    free(path);
    return f;
}

static void release(file *f)
{
    free(f->line);
    str_free(&f->text);
}

static void check_sample(void)
{
    file gold = read_data("sample/sample.gld"), test = read_data("sample/sample.tst"),
         expected = read_data("sample/sample.rsl");
    char *params = data_path("sample/sample.prm"), *text = NULL, *found[100], *rest;
    size_t size = 0, n, k = 0;
    evalb_params p;
    evalb_row rows[100];
    evalb_result all, part;
    err e = {0};
    FILE *f = open_memstream(&text, &size);
    CHECK_INT(evalb_params_load(&p, params, &e), 0);
    CHECK_INT(gold.n, test.n);
    CHECK(gold.n <= 100);
    CHECK_INT(
        evalb_score(&p, (const char *const *)gold.line, (const char *const *)test.line, gold.n, rows, &all, &part, &e),
        0);
    CHECK_TEXT(e.text, "");
    evalb_print_rows(f, EVALB_FIRST, rows, gold.n, &all);
    evalb_print_summary(f, EVALB_FIRST, &p, &all, &part);
    fclose(f);
    n = cut(text, '\n', found, 100);
    for (size_t i = 0; i < n; i++) {
        rest = k < expected.n ? expected.line[k++] : "";
        CHECK_TEXT(found[i], rest);
    }
    CHECK_INT(k, expected.n);
    free(text);
    free(params);
    evalb_params_free(&p);
    release(&gold);
    release(&test);
    release(&expected);
}

static void check_cases(void)
{
    enum {
        NAME,
        GOLD,
        TEST,
        LENGTH_,
        STATUS,
        CACHE_REORDER,
        PRECISION,
        MATCHED,
        GOLD_BRACKETS,
        TEST_BRACKETS,
        CROSSING,
        WORDS,
        TAGS,
        TAGGING,
        ALL_RECALL,
        ALL_PRECISION,
        ALL_F,
        COMPLETE,
        FIELDS
    };
    file cases = read_data("cases.tsv");
    char *params = data_path("COLLINS.prm");
    evalb_params p;
    err e = {0};
    CHECK_INT(evalb_params_load(&p, params, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK(cases.n > 20);
    for (size_t i = 1; i < cases.n; i++) {
        char *f[FIELDS + 1];
        evalb_row r;
        evalb_result all;
        int failed = test_failed;
        CHECK_INT(cut(cases.line[i], '\t', f, FIELDS + 1), FIELDS);
        const char *gold = f[GOLD], *test = f[TEST];
        CHECK_INT(evalb_score(&p, &gold, &test, 1, &r, &all, NULL, &e), 0);
        CHECK_INT(r.length, atoi(f[LENGTH_]));
        CHECK_INT(r.status, atoi(f[STATUS]));
        CHECK_INT(r.matched, atoi(f[MATCHED]));
        CHECK_INT(r.gold, atoi(f[GOLD_BRACKETS]));
        CHECK_INT(r.test, atoi(f[TEST_BRACKETS]));
        CHECK_INT(r.crossing, atoi(f[CROSSING]));
        CHECK_INT(r.words, atoi(f[WORDS]));
        CHECK_INT(r.tags, atoi(f[TAGS]));
        CHECK_NEAR(r.gold ? 100. * r.matched / r.gold : 0, atof(f[CACHE_REORDER]), 0.00501);
        CHECK_NEAR(r.test ? 100. * r.matched / r.test : 0, atof(f[PRECISION]), 0.00501);
        CHECK_NEAR(r.words ? 100. * r.tags / r.words : 0, atof(f[TAGGING]), 0.00501);
        CHECK_NEAR(all.recall, atof(f[ALL_RECALL]), 0.00501);
        CHECK_NEAR(all.precision, atof(f[ALL_PRECISION]), 0.00501);
        CHECK_NEAR(all.f1, same(f[ALL_F], "nan") ? 0 : atof(f[ALL_F]), 0.00501);
        CHECK_NEAR(all.complete, atof(f[COMPLETE]), 0.00501);
        if (test_failed > failed) printf("  in case \"%s\"\n", f[NAME]);
    }
    free(params);
    evalb_params_free(&p);
    release(&cases);
}

int main(void)
{
    if (!test_data()) {
        printf("skipped: ABLATE_DATA is not set\n");
        return 77;
    }
    check_sample();
    check_cases();
    return test_end();
}
