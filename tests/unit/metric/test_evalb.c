/* EVALB's rules on cases worked by hand; test_evalb_data.c compares with EVALB's own figures. */
#include "test.h"
#include "text/metric/evalb/evalb.h"
#include "text/metric/stats.h"

typedef struct {
    const char *what, *gold, *test;
    int status, length, matched, n_gold, n_test, crossing, words, tags;
} example;

/* brackets of this gold tree: S NP VP PP NP */
#define DOG "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars)))) (. !)))"

static const example collins[] = {
    {"the same", DOG, DOG, 0, 6, 5, 5, 5, 0, 5, 5},
    {"punctuation elsewhere", DOG,
     "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars) (. !))))))", 0, 6, 5, 5, 5, 0, 5, 5},
    {"no root at all", DOG, "(S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars)))) (. !))", 0, 6, 5,
     5, 5, 0, 5, 5},
    {"another root counts", DOG, "(X (S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars)))) (. !)))",
     0, 6, 5, 5, 6, 0, 5, 5},
    {"a wrong tag", DOG, "(TOP (S (NP (DT the) (NN dog)) (VP (NNS barks) (PP (IN at) (NP (NNS cars)))) (. !)))", 0, 6,
     5, 5, 5, 0, 5, 4},
    {"a wrong label", DOG, "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (XP (IN at) (NP (NNS cars)))) (. !)))", 0, 6,
     4, 5, 5, 0, 5, 5},
    /* [the [dog barks]] crosses NP and VP, but counts as one crossing bracket; [barks at] crosses PP */
    {"crossing", DOG, "(TOP (S (DT the) (X (NN dog) (VBZ barks)) (IN at) (NP (NNS cars)) (. !)))", 0, 6, 2, 5, 3, 1, 5,
     5},
    {"crossing twice", DOG, "(TOP (S (DT the) (X (NN dog) (Y (VBZ barks) (IN at))) (NP (NNS cars)) (. !)))", 0, 6, 2, 5,
     4, 2, 5, 5},
    {"flat", DOG, "(S (DT the) (NN dog) (VBZ barks) (IN at) (NNS cars) (. !))", 0, 6, 1, 5, 1, 0, 5, 5},
    {"a forest", DOG, "(DT the) (NN dog) (VBZ barks) (IN at) (NNS cars) (. !)", 0, 6, 0, 5, 0, 0, 5, 5},
    {"a word too few", DOG, "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. !))", 1, 6, 0, 0, 0, 0, 0, 0},
    {"another word", DOG, "(S (NP (DT the) (NN cat)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars)))) (. !))", 1, 6, 0, 0,
     0, 0, 0, 0},
    {"another mark is no word", DOG, "(S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars)))) (. ?))",
     0, 6, 5, 5, 5, 0, 5, 5},
    {"the mark tagged as a word", DOG,
     "(S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars)))) (XX !))", 1, 6, 0, 0, 0, 0, 0, 0},
    {"an empty line", DOG, "", 2, 6, 0, 0, 0, 0, 0, 0},
    {"marks only", DOG, "(TOP (. !))", 2, 6, 0, 0, 0, 0, 0, 0},
    {"never closed", DOG, "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars)))) (. !)", 1, 6, 5,
     5, 5, 0, 5, 5},
    {"closed too often", DOG, "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars)))) (. !)))))",
     1, 6, 5, 5, 5, 0, 5, 5},
    {"no tree", DOG, "the dog barks at cars !", 1, 6, 0, 0, 0, 0, 0, 0},
    {"function tags", "(S (NP-SBJ-1 (NN rain)) (VP=2 (VBZ falls)))", "(S-TPC (NP (NN rain)) (VP (VBZ falls)))", 0, 2, 3,
     3, 3, 0, 2, 2},
    {"traces and what they leave empty", "(S (NP (NN rain)) (VP (VBZ ends) (S (NP (-NONE- *)) (VP (-NONE- *)))))",
     "(S (NP (NN rain)) (VP (VBZ ends)))", 0, 2, 3, 3, 3, 0, 2, 2},
    {"brackets stay", "(S (-LRB- -LRB-) (NN x) (-RRB- -RRB-))", "(S (-LRB- -LRB-) (NN x) (-RRB- -RRB-))", 0, 3, 1, 1, 1,
     0, 3, 3},
    /* NP twice in one tree, three times in the other: one of three does not match */
    {"unary chains", "(S (NP (NP (NN rain))) (VP (VBZ falls)))", "(S (NP (NP (NP (NN rain)))) (VP (VBZ falls)))", 0, 2,
     4, 4, 5, 0, 2, 2},
    {"unary order is no matter", "(S (A (B (NN rain))) (C (VBZ falls)))", "(S (B (A (NN rain))) (C (VBZ falls)))", 0, 2,
     4, 4, 4, 0, 2, 2},
    {"one bracket matches once", "(S (NP (NP (NN rain))) (VP (VBZ falls)))", "(S (NP (NN rain)) (VP (VBZ falls)))", 0,
     2, 3, 4, 3, 0, 2, 2},
    /* gold [0, 2) begins before test [1, 3) and ends inside it; in the next case the other way round */
    {"crossed from the left", "(S (A (N a) (N b)) (N c))", "(S (N a) (A (N b) (N c)))", 0, 3, 1, 2, 2, 1, 3, 3},
    {"crossed from the right", "(S (N a) (A (N b) (N c)))", "(S (A (N a) (N b)) (N c))", 0, 3, 1, 2, 2, 1, 3, 3},
    {"side by side is no crossing", "(S (A (N a) (N b)) (N c) (N d))", "(S (N a) (N b) (A (N c) (N d)))", 0, 4, 1, 2, 2,
     0, 4, 4},
    {"equal labels", "(S (ADVP (RB out)) (PRT (PRT up)))", "(S (PRT (RB out)) (ADVP (ADVP up)))", 0, 2, 3, 3, 3, 0, 2,
     2},
    {"no brackets on either side", "(NN rain)", "(NN rain)", 0, 1, 0, 0, 0, 0, 1, 1},
    {"no words on either side", "(S (. .))", "(S (. .))", 2, 1, 0, 0, 0, 0, 0, 0},
    {"only the gold side without words", "(S (. .))", "(S (NN x))", 1, 1, 0, 0, 0, 0, 0, 0},
    {"empty brackets", "(S (NN x) (ADJP))", "(S (NN x) (PP) (QP (RB)))", 0, 1, 1, 1, 1, 0, 1, 1},
    {"an empty label is a label", "( (S (NN x)))", "(S (NN x))", 0, 1, 1, 2, 1, 0, 1, 1},
};

static void check_examples(const evalb_params *p, const example *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const example *x = &list[i];
        evalb_row r;
        evalb_result all;
        err e = {0};
        int failed = test_failed;
        CHECK_INT(evalb_score(p, &x->gold, &x->test, 1, &r, &all, NULL, &e), 0);
        CHECK_TEXT(e.text, "");
        CHECK_INT(r.status, x->status);
        CHECK_INT(r.length, x->length);
        CHECK_INT(r.matched, x->matched);
        CHECK_INT(r.gold, x->n_gold);
        CHECK_INT(r.test, x->n_test);
        CHECK_INT(r.crossing, x->crossing);
        CHECK_INT(r.words, x->words);
        CHECK_INT(r.tags, x->tags);
        CHECK_INT(*r.why != 0, x->status != 0);
        CHECK_INT(all.valid, x->status == 0);
        CHECK_INT(all.gold, x->status ? 0 : x->n_gold);
        if (test_failed > failed) printf("  in example \"%s\"\n", x->what);
    }
}

/* Four outputs: right, flat, one with a word missing, and an empty line. */
static const char *const gold4[] = {"(S (NP (NN rain)) (VP (VBZ falls)))",
                                    "(S (NP (DT a) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars)))))",
                                    "(S (NP (NN rain)) (VP (VBZ falls)))", "(S (NP (NN rain)) (VP (VBZ falls)))"};
static const char *const test4[] = {"(S (NP (NN rain)) (VP (VBZ falls)))",
                                    "(S (DT a) (NN dog) (VBZ barks) (IN at) (NN cars))", "(S (NP (NN rain)))", ""};

static void check_result(void)
{
    evalb_params p;
    evalb_row rows[4];
    evalb_result all, part;
    double stats[12], sum[3] = {0}, strict[3] = {0};
    evalb_params_default(&p);
    p.cutoff = 4;
    CHECK_INT(evalb_score(&p, gold4, test4, 4, rows, &all, &part, NULL), 0);
    CHECK_INT(all.sentences, 4);
    CHECK_INT(all.errors, 1);
    CHECK_INT(all.skipped, 1);
    CHECK_INT(all.valid, 2);
    CHECK_NEAR(all.recall, 50, 1e-12); /* 3 + 1 matched of 3 + 5 */
    CHECK_NEAR(all.precision, 100, 1e-12);
    CHECK_NEAR(all.f1, 200 / 3., 1e-12);
    CHECK_NEAR(all.strict_recall, 400 / 14., 1e-12); /* 4 of 14 */
    CHECK_NEAR(all.strict_f1, 400 / 9., 1e-12);      /* 2 * 4 / (14 + 4) */
    CHECK_NEAR(all.complete, 50, 1e-12);
    CHECK_NEAR(all.tagging, 600 / 7., 1e-12);
    CHECK_NEAR(all.no_crossing, 100, 1e-12);
    CHECK_INT(part.sentences, 3);
    CHECK_INT(part.valid, 1);
    CHECK_NEAR(part.f1, 100, 1e-12);
    CHECK_NEAR(part.strict_f1, 600 * 1. / 12, 1e-12); /* 2 * 3 / (9 + 3) */
    p.cutoff = 2;                                     /* a length equal to the cutoff counts as short */
    CHECK_INT(evalb_score(&p, gold4, test4, 4, NULL, NULL, &part, NULL), 0);
    CHECK_INT(part.sentences, 3);
    p.cutoff = 1;
    CHECK_INT(evalb_score(&p, gold4, test4, 4, NULL, NULL, &part, NULL), 0);
    CHECK_INT(part.sentences, 0);
    evalb_stats(rows, 4, false, stats);
    for (int i = 0; i < 12; i++) sum[i % 3] += stats[i];
    CHECK_NEAR(stats_f1(sum, NULL), all.f1, 1e-12);
    evalb_stats(rows, 4, true, stats);
    for (int i = 0; i < 12; i++) strict[i % 3] += stats[i];
    CHECK_NEAR(stats_f1(strict, NULL), all.strict_f1, 1e-12);
    CHECK_HAS(rows[2].why, "1 words that EVALB counts, but 2 in the gold tree");
    CHECK_INT(evalb_score(&p, gold4, test4, 0, NULL, &all, &part, NULL), 0);
    CHECK_NEAR(all.f1 + all.complete + all.tagging + all.crossing, 0, 0);
    evalb_params_free(&p);
}

static void check_print(void)
{
    static const char expected[] = "  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
                                   " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy\n"
                                   "============================================================================\n"
                                   "   1    2    0  100.00 100.00     3      3    3      0      2     2   100.00\n"
                                   "   2    5    0   20.00 100.00     1      5    1      0      5     4    80.00\n"
                                   "   3    2    1    0.00   0.00     0      0    0      0      0     0     0.00\n"
                                   "   4    2    2    0.00   0.00     0      0    0      0      0     0     0.00\n"
                                   "============================================================================\n"
                                   "                 50.00 100.00      4     8     4      0      7     6    85.71\n"
                                   "=== Summary ===\n\n-- All --\n"
                                   "Number of sentence        =      4\nNumber of Error sentence  =      1\n"
                                   "Number of Skip  sentence  =      1\nNumber of Valid sentence  =      2\n"
                                   "Bracketing Recall         =  50.00\nBracketing Precision      = 100.00\n"
                                   "Bracketing FMeasure       =  66.67\nComplete match            =  50.00\n"
                                   "Average crossing          =   0.00\nNo crossing               = 100.00\n"
                                   "2 or less crossing        = 100.00\nTagging accuracy          =  85.71\n"
                                   "\n-- len<=4 --\n"
                                   "Number of sentence        =      3\nNumber of Error sentence  =      1\n"
                                   "Number of Skip  sentence  =      1\nNumber of Valid sentence  =      1\n"
                                   "Bracketing Recall         = 100.00\nBracketing Precision      = 100.00\n"
                                   "Bracketing FMeasure       = 100.00\nComplete match            = 100.00\n"
                                   "Average crossing          =   0.00\nNo crossing               = 100.00\n"
                                   "2 or less crossing        = 100.00\nTagging accuracy          = 100.00\n";
    evalb_params p;
    evalb_row rows[4];
    evalb_result all, part;
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    evalb_params_default(&p);
    p.cutoff = 4;
    CHECK_INT(evalb_score(&p, gold4, test4, 4, rows, &all, &part, NULL), 0);
    evalb_print_rows(f, EVALB_CURRENT, rows, 4, &all);
    evalb_print_summary(f, EVALB_CURRENT, &p, &all, &part);
    fclose(f);
    CHECK_TEXT(text, expected);
    free(text);
    evalb_params_free(&p);
}

static const char *write_params(const char *text)
{
    static const char path[] = BUILD_DIR "/test_evalb.prm";
    err e = {0};
    CHECK_INT(file_write(path, text, strlen(text), &e), 0);
    CHECK_TEXT(e.text, "");
    return path;
}

static void check_params(void)
{
    static const example unlabeled[] = {
        {"labels do not matter", "(S (NP (NN rain)) (VP (VBZ falls)))", "(A (B (NN Rain)) (C (XX falls)))", 0, 2, 3, 3,
         3, 0, 2, 1},
        {"an equal label is deleted as well", "(S (NP (NN rain)))", "(S (GONE (NP (NN rain))))", 0, 1, 2, 2, 2, 0, 1,
         1},
        {"but not an equal tag", "(S (NN rain) (GONE x))", "(S (NN rain))", 1, 2, 0, 0, 0, 0, 0, 0},
        {"MAX_ERROR is not reached", "(S (NN rain))", "", 2, 1, 0, 0, 0, 0, 0, 0},
    };
    static const char text[] = "# ours\n\nDEBUG 1\nMAX_ERROR 1\nCUTOFF_LEN 7 \nLABELED 0\nDELETE_LABEL OUT\n "
                               "EQ_LABEL OUT\tGONE\r\nEQ_WORD Rain rain\n";
    static const char *const bad[][2] = {
        {"\nDELETE_LABLE X\n", ":2: unknown parameter \"DELETE_LABLE\"; did you mean DELETE_LABEL?"},
        {"CUTOFF_LEN many", ":1: CUTOFF_LEN: found \"many\", expected a whole number"},
        {"LABELED 2", ":1: LABELED: found \"2\", expected 0 or 1"},
        {"MAX_ERROR -3", "expected a whole number of 0 or more"},
        {"EQ_LABEL A", ":1: EQ_LABEL: found 1 values, expected 2"},
        {"DELETE_LABEL A B C D", "found 3 or more values, expected 1"},
        {"DELETE_LABEL", "found 0 values, expected 1"},
    };
    const char *gold[] = {"(S (NN a))", "(S (NN b))"}, *wrong[] = {"(S (NN b))", "(S (NN a))"};
    evalb_params p;
    evalb_row r[2];
    err e = {0};
    CHECK_INT(evalb_params_load(&p, write_params(text), &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(p.max_error, 1);
    CHECK_INT(p.cutoff, 7);
    check_examples(&p, unlabeled, LENGTH(unlabeled));
    CHECK_INT(evalb_score(&p, gold, wrong, 1, r, NULL, NULL, &e), 0);
    CHECK_INT(evalb_score(&p, gold, wrong, 2, r, NULL, NULL, &e), -1);
    CHECK_HAS(e.text, "more than MAX_ERROR 1 error sentences; the last one is line 2: word 1 is \"a\", but \"b\"");
    evalb_params_free(&p);
    for (size_t i = 0; i < LENGTH(bad); i++) {
        e = (err){0};
        CHECK_INT(evalb_params_load(&p, write_params(bad[i][0]), &e), -1);
        CHECK_HAS(e.text, bad[i][1]);
        evalb_params_free(&p);
    }
    e = (err){0};
    CHECK_INT(evalb_params_load(&p, BUILD_DIR "/no-such.prm", &e), -1);
    CHECK_HAS(e.text, "no-such.prm");
    evalb_params_free(&p);
    remove(BUILD_DIR "/test_evalb.prm");
}

/* Quotation marks that count as a word in one of the trees only. */
static void check_quotes(void)
{
    static const char text[] = "DELETE_LABEL ''\nDELETE_LABEL .\nQUOTE_LABEL ''\nQUOTE_LABEL POS\n";
    static const example list[] = {
        {"both drop it", "(S (NNS dogs) ('' ') (NN bone))", "(S (NNS dogs) ('' ') (NN bone))", 0, 3, 1, 1, 1, 0, 2, 2},
        {"both keep it", "(S (NNS dogs) (POS ') (NN bone))", "(S (NNS dogs) (POS ') (NN bone))", 0, 3, 1, 1, 1, 0, 3,
         3},
        {"the test drops it", "(S (NP (NNS dogs) (POS ')) (NN bone))", "(S (NP (NNS dogs) ('' ')) (NN bone))", 0, 3, 2,
         2, 2, 0, 3, 2},
        {"the gold drops it", "(S (NNS dogs) ('' ') (NN bone) (. .))", "(S (NNS dogs) (POS ') (NN bone) (. .))", 0, 4,
         1, 1, 1, 0, 3, 2},
        {"no quotation mark", "(S (NNS dogs) (. ') (NN bone))", "(S (NNS dogs) (POS ') (NN bone))", 1, 3, 0, 0, 0, 0, 0,
         0},
        {"a word is missing", "(S (NNS dogs) (POS ') (NN bone))", "(S (NNS dogs) ('' '))", 1, 3, 0, 0, 0, 0, 0, 0},
    };
    evalb_params p;
    CHECK_INT(evalb_params_load(&p, write_params(text), NULL), 0);
    check_examples(&p, list, LENGTH(list));
    evalb_params_free(&p);
    remove(BUILD_DIR "/test_evalb.prm");
}

static void check_bad_gold(const evalb_params *p)
{
    static const char *const cases[][2] = {
        {"(S (NN x)", "gold trees, line 2: column 1: a bracket that is never closed"},
        {"(S (NN x)))", "gold trees, line 2: column 11: a closing bracket"},
        {"(S x (NN x))", "gold trees, line 2: column 6: a bracket with more than its word"}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *gold[] = {"(S (NN x))", cases[i][0]}, *test[] = {"(S (NN x))", "(S (NN x))"};
        err e = {0};
        CHECK_INT(evalb_score(p, gold, test, 2, NULL, NULL, NULL, &e), -1);
        CHECK_HAS(e.text, cases[i][1]);
    }
}

/* Deep, long and many trees, whose figures follow from their construction. */
static void check_large(const evalb_params *p)
{
    enum { DEPTH = 10000, WORDS = 60000 };
    str deep = {0}, right = {0}, left = {0}, cut = {0};
    for (int i = 0; i < DEPTH; i++) str_add(&deep, i % 2 ? "(X " : "(Y ");
    str_add(&deep, "(A a)");
    for (int i = 0; i < DEPTH; i++) str_addc(&deep, ')');
    for (int i = 0; i < WORDS; i++) str_add(&right, i + 1 < WORDS ? "(X (A a) " : "(A a)");
    for (int i = 1; i < WORDS; i++) str_addc(&right, ')');
    for (int i = 1; i < WORDS; i++) str_add(&left, "(X ");
    for (int i = 0; i < WORDS; i++) str_add(&left, i ? " (A a))" : "(A a)");
    str_addn(&cut, deep.s, deep.n - 1);
    const char *gold[] = {deep.s, right.s, deep.s}, *test[] = {deep.s, left.s, cut.s};
    evalb_row r[3];
    err e = {0};
    CHECK_INT(evalb_score(p, gold, test, 3, r, NULL, NULL, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(r[0].matched, DEPTH);
    CHECK_INT(r[1].words, WORDS);
    CHECK_INT(r[1].matched, 1);
    CHECK_INT(r[1].crossing, WORDS - 2); /* [0, k) and [k - 1, n) cross for every k from 2 to n - 1 */
    CHECK_INT(r[2].status, EVALB_ERROR);
    CHECK_INT(r[2].matched, DEPTH);
    str_free(&deep);
    str_free(&right);
    str_free(&left);
    str_free(&cut);
}

int main(void)
{
    evalb_params p;
    evalb_params_default(&p);
    check_examples(&p, collins, LENGTH(collins));
    check_bad_gold(&p);
    check_large(&p);
    evalb_params_free(&p);
    check_result();
    check_print();
    check_params();
    check_quotes();
    return test_end();
}
