/* test_str.c - growing strings, helpers for text, numbers in text, the nearest name. */
#include "base/base.h"
#include "test.h"
#include <float.h>

static void adding(void)
{
    str b = {0};
    CHECK_TEXT(str_text(&b), "");
    str_add(&b, "");
    CHECK(b.s != NULL);
    str_add(&b, "heads");
    str_addc(&b, '=');
    str_addf(&b, "%d", 8);
    str_addn(&b, "; rest", 1);
    CHECK_TEXT(b.s, "heads=8;");
    CHECK_INT(b.n, 8);
    /* a string appended to itself, through several reallocations */
    for (int i = 0; i < 10; i++) str_addn(&b, b.s, b.n);
    CHECK_INT(b.n, 8 * 1024);
    CHECK_INT(memcmp(b.s + b.n - 8, "heads=8;", 9), 0);
    str_clear(&b);
    CHECK_TEXT(b.s, "");
    str_addf(&b, "%*d", 255, 1);
    str_addf(&b, "%*d", 256, 2);
    str_addf(&b, "%*d", 3000, 3);
    CHECK_INT(b.n, 255 + 256 + 3000);
    CHECK_INT(b.s[254] - '0', 1);
    CHECK_INT(b.s[510] - '0', 2);
    CHECK_INT(b.s[3510] - '0', 3);
    str_free(&b);
    CHECK(b.s == NULL && b.n == 0 && b.cap == 0);
    str_free(&b);
}

static void helpers(void)
{
    char a[] = " \t d_model = 5 \r\n", none[] = "", blanks[] = "  \n";
    CHECK_TEXT(trim(a), "d_model = 5");
    CHECK_TEXT(trim(none), "");
    CHECK_TEXT(trim(blanks), "");
    CHECK(same("a", "a") && !same("a", "b") && same(NULL, NULL) && !same(NULL, "") && !same("", NULL));
    CHECK(has_prefix("posenc/alibi", "posenc/") && !has_prefix("pos", "posenc") && has_prefix("x", ""));
    CHECK(has_suffix("a.ini", ".ini") && !has_suffix("ini", ".ini") && has_suffix("x", ""));
}

static void integers(void)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"+7", 7},
                {"007", 7},
                {"-12", -12},
                {"1e6", 1000000},
                {"1E+6", 1000000},
                {"4k", 4000},
                {"2M", 2000000},
                {"1.5k", 1500},
                {"0.25M", 250000},
                {"2.5e3", 2500},
                {"1200e-2", 12},
                {"-4k", -4000},
                {"0e99999", 0},
                {"0k", 0},
                {"00000000000000000000000001", 1},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"9223372036854775807e0", INT64_MAX},
                {"1e18", 1000000000000000000},
                {"0.000001M", 1},
                {"100e-2", 1}};
    for (size_t i = 0; i < LENGTH(good); i++) {
        int64_t x = -77;
        if (!parse_int(good[i].text, &x)) printf("refused: \"%s\"\n", good[i].text);
        CHECK_INT(x, good[i].value);
    }
    static const char *const bad[] = {"",
                                      " ",
                                      "-",
                                      "+",
                                      ".",
                                      "e5",
                                      "k",
                                      "1 ",
                                      " 1",
                                      "1x",
                                      "1kk",
                                      "4K",
                                      "1.5",
                                      "1.0",
                                      "1.",
                                      "1e-1",
                                      "1.2345k",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "1e19",
                                      "9223372036854775807k",
                                      "0x10",
                                      "1e",
                                      "1e+",
                                      "1e99999999999",
                                      "nan",
                                      "inf",
                                      "--1",
                                      "1,000",
                                      "1_000",
                                      "1e3k3"};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        int64_t x = -77;
        if (parse_int(bad[i], &x)) printf("taken: \"%s\"\n", bad[i]);
        CHECK_INT(x, -77);
    }
    int64_t x = -77;
    CHECK(!parse_int(NULL, &x));
}

static void reals(void)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},
                {"0.1", 0.1},
                {".5", 0.5},
                {"5.", 5},
                {"-1.5e-3", -0.0015},
                {"+2E2", 200},
                {"1e-400", 0},
                {"1.7976931348623157e308", DBL_MAX},
                {"4.9406564584124654e-324", 0x1p-1074},
                {"100000", 1e5}};
    for (size_t i = 0; i < LENGTH(good); i++) {
        double x = -77;
        if (!parse_real(good[i].text, &x)) printf("refused: \"%s\"\n", good[i].text);
        CHECK_NEAR(x, good[i].value, 0);
    }
    static const char *const bad[] = {"",      " 1",  "1 ",    "nan", "inf", "-inf", "infinity", "1e400", "-1e400",
                                      "0x1p3", "1d3", "1.2.3", "1e",  ".",   "-.",   "4k",       "1f",    "0,5"};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        double x = -77;
        if (parse_real(bad[i], &x)) printf("taken: \"%s\"\n", bad[i]);
        CHECK_NEAR(x, -77, 0);
    }
}

static void shortest(void)
{
    static const struct {
        double x;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {100000, "100000"},
                 {5e-9, "5e-09"},
                 {0, "0"},
                 {-0.0, "-0"},
                 {1, "1"},
                 {-2.5, "-2.5"},
                 {1.0 / 3, "0.3333333333333333"},
                 {0.30000000000000004, "0.30000000000000004"},
                 {1e15, "1000000000000000"},
                 {1e16, "1e+16"},
                 {1e22, "1e+22"},
                 {123456789, "123456789"},
                 {9007199254740993.0, "9007199254740992"},
                 {9007199254740994, "9007199254740994"},
                 {0.0001, "0.0001"},
                 {0.00001, "1e-05"},
                 {-DBL_MAX, "-1.7976931348623157e+308"},
                 {-0x1p-1074, "-5e-324"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"},
                 {NAN, "nan"},
                 {41.02, "41.02"}};
    char text[32];
    for (size_t i = 0; i < LENGTH(cases); i++) CHECK_TEXT(format_real(cases[i].x, text), cases[i].text);
    rng r = rng_seed(5, 0);
    int wrong = 0, longer = 0;
    for (int i = 0; i < 50000; i++) {
        uint64_t bits = rng_next(&r);
        double x, back = 0;
        if (i % 2) /* integers and decimals, as people write them */
            x = (double)(int64_t)(bits % 2000001) / (i % 4 == 1 ? 1 : 1000);
        else
            memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        wrong += !parse_real(format_real(x, text), &back) || back != x;
        char full[40];
        snprintf(full, sizeof full, "%.17g", x);
        longer += fabs(x) < 1e16 && strlen(text) > strlen(full); /* from 1e16 on, powers of ten have an exponent */
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(longer, 0);
}

static void nearest_name(void)
{
    static const char *const keys[] = {"d_model", "d_ff", "heads", NULL, "dropout", "label_smoothing", "warmup"};
    size_t n = LENGTH(keys);
    CHECK_TEXT(nearest("head", keys, n), "heads");
    CHECK_TEXT(nearest("haeds", keys, n), "heads");
    CHECK_TEXT(nearest("dmodel", keys, n), "d_model");
    CHECK_TEXT(nearest("dropuot", keys, n), "dropout");
    CHECK_TEXT(nearest("label_smothing", keys, n), "label_smoothing");
    CHECK_TEXT(nearest("warmup", keys, n), "warmup");
    CHECK_TEXT(nearest("d_fff", keys, n), "d_ff");
    CHECK(nearest("attention", keys, n) == NULL);
    CHECK(nearest("xyz", keys, n) == NULL);
    CHECK(nearest("", keys, n) == NULL);
    CHECK(nearest("heads", keys, 0) == NULL);
    static const char *const edge[] = {"abcxyz"}; /* six letters allow 1 + 6/3 = 3 edits */
    CHECK_TEXT(nearest("abcdef", edge, 1), "abcxyz");
    static const char *const beyond[] = {"abwxyz"};
    CHECK(nearest("abcdef", beyond, 1) == NULL);
    static const char *const tie[] = {"cat", "bat", "rat"};
    CHECK_TEXT(nearest("mat", tie, 3), "cat");
    CHECK_TEXT(nearest("rat", tie, 3), "rat");
    static const char *const names[] = {"head", "heads",  "layers", "adam",  "adamw",  "label_smoothing",
                                        "t5",   "rotary", "warmup", "steps", "dropout"};
    static const char *const words[][2] = {{"headz", "heads"},
                                           {"AdamW", "adamw"},
                                           {"rope", "rotary"},
                                           {"h", "heads"},
                                           {"N", "layers"},
                                           {"P_drop", "dropout"},
                                           {"LAYERS", "layers"},
                                           {"warmup_steps", "warmup"},
                                           {"eps_ls", "label_smoothing"}};
    for (size_t i = 0; i < LENGTH(words); i++) CHECK_TEXT(nearest(words[i][0], names, LENGTH(names)), words[i][1]);
    CHECK(nearest("x", names, LENGTH(names)) == NULL); /* one wrong letter is the whole word */
    CHECK(nearest(" N", names, LENGTH(names)) == NULL);
}

static void what_is_shown(void)
{
    static const char *const cases[][2] = {
        {"plain text, caf\xc3\xa9 \xe2\x82\xac \xe6\xbc\xa2", "plain text, caf\xc3\xa9 \xe2\x82\xac \xe6\xbc\xa2"},
        {"a\x1b[31mb", "a\\x1b[31mb"},
        {"row\r\n", "row\\x0d\\x0a"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"},
        {"\xe2\x80\xae"
         "gnp",
         "\\xe2\\x80\\xaegnp"},
        {"\xe2\x81\xa7", "\\xe2\\x81\\xa7"},
        {"\xe2\x80", "\xe2\x80"},
        {"\xc2", "\xc2"},
        {"", ""}};
    str b = {0};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        str_clear(&b);
        str_add_shown(&b, cases[i][0], false);
        CHECK_TEXT(str_text(&b), cases[i][1]);
    }
    str_clear(&b);
    str_add_shown(&b, "a\n\tb\x07", true);
    CHECK_TEXT(b.s, "a\n\tb\\x07");
    str_free(&b);
    err e = {0};
    fail(&e, "file\x1b]0;title\x07: line\n\tnext");
    CHECK_TEXT(e.text, "file\\x1b]0;title\\x07: line\n\tnext");
}

int main(void)
{
    what_is_shown();
    adding();
    helpers();
    integers();
    reals();
    shortest();
    nearest_name();
    return test_end();
}
