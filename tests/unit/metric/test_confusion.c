/* Confused labels, and F1 by length, on cases worked by hand. */
#include "test.h"
#include "text/metric/confusion.h"

static evalb_params collins;

/* Counts of one label as "gold right taken missed / test right taken spurious", or "" if it does not occur. */
static const char *counts_of(const confusion *c, const char *label)
{
    static char text[128];
    text[0] = 0;
    for (size_t i = 0; i < c->n_labels; i++) {
        const confusion_label *l = &c->labels[i];
        if (same(l->label, label))
            snprintf(text, sizeof text, "%lld %lld %lld %lld / %lld %lld %lld %lld", (long long)l->gold,
                     (long long)l->right, (long long)l->taken, (long long)l->missed, (long long)l->test,
                     (long long)l->test_right, (long long)l->test_taken, (long long)l->spurious);
    }
    return text;
}

/* All confused pairs, such as "NP->NX 2, A->B 1". */
static const char *pairs_of(const confusion *c)
{
    static char text[256];
    text[0] = 0;
    for (size_t i = 0; i < c->n_pairs; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s->%s %lld", i ? ", " : "", c->pairs[i].gold, c->pairs[i].test,
                 (long long)c->pairs[i].n);
    }
    return text;
}

/* Every bracket is counted once, and the brackets counted as right are the ones that EVALB matches. */
static void check_sums(const confusion *c, const char *const *gold, const char *const *test, size_t n)
{
    evalb_result all;
    err e = {0};
    int64_t right = 0, test_right = 0, n_gold = 0, n_test = 0, taken = 0, test_taken = 0, pairs = 0;
    CHECK_INT(evalb_score(&collins, gold, test, n, NULL, &all, NULL, &e), 0);
    for (size_t i = 0; i < c->n_labels; i++) {
        const confusion_label *l = &c->labels[i];
        CHECK_INT(l->right + l->taken + l->missed, l->gold);
        CHECK_INT(l->test_right + l->test_taken + l->spurious, l->test);
        right += l->right, test_right += l->test_right, n_gold += l->gold, n_test += l->test;
        taken += l->taken, test_taken += l->test_taken;
    }
    for (size_t i = 0; i < c->n_pairs; i++) pairs += c->pairs[i].n;
    CHECK_INT(right, all.matched);
    CHECK_INT(test_right, all.matched);
    CHECK_INT(n_gold, all.gold);
    CHECK_INT(n_test, all.test);
    CHECK_INT(taken, pairs);
    CHECK_INT(test_taken, pairs);
}

static void count(const char *const *gold, const char *const *test, size_t n, confusion *c)
{
    err e = {0};
    CHECK_INT(confusion_count(&collins, gold, test, n, c, &e), 0);
    CHECK_TEXT(e.text, "");
    check_sums(c, gold, test, n);
}

#define DOG "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (PP (IN at) (NP (NNS cars)))) (. !)))"

typedef struct {
    const char *what, *gold, *test, *pairs;
    const char *label[3], *counts[3];
} example;

static const example examples[] = {
    {"the same", DOG, DOG, "", {"NP", "VP", "TOP"}, {"2 2 0 0 / 2 2 0 0", "1 1 0 0 / 1 1 0 0", ""}},
    {"a wrong label",
     DOG,
     "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (XP (IN at) (NP (NNS cars)))) (. !)))",
     "PP->XP 1",
     {"PP", "XP", "NP"},
     {"1 0 1 0 / 0 0 0 0", "0 0 0 0 / 1 0 1 0", "2 2 0 0 / 2 2 0 0"}},
    {"other words",
     "(S (NP (N a) (N b)) (N c))",
     "(S (N a) (VP (N b) (N c)))",
     "",
     {"NP", "VP", "S"},
     {"1 0 0 1 / 0 0 0 0", "0 0 0 0 / 1 0 0 1", "1 1 0 0 / 1 1 0 0"}},
    /* QP is matched at either depth of the chain; NP is then confused with NX */
    {"a chain",
     "(S (NP (QP (CD two))))",
     "(S (QP (NX (CD two))))",
     "NP->NX 1",
     {"NP", "QP", "NX"},
     {"1 0 1 0 / 0 0 0 0", "1 1 0 0 / 1 1 0 0", "0 0 0 0 / 1 0 1 0"}},
    {"a chain, paired from the outermost on",
     "(S (A (B (C (N x)))) (D (N y)))",
     "(S (E (F (N x))) (D (N y)))",
     "A->E 1, B->F 1",
     {"C", "E", "D"},
     {"1 0 0 1 / 0 0 0 0", "0 0 0 0 / 1 0 1 0", "1 1 0 0 / 1 1 0 0"}},
    {"the same label missed and spurious",
     "(S (A (N x) (N y)) (N z))",
     "(S (N x) (A (N y) (N z)))",
     "",
     {"A", "S", "N"},
     {"1 0 0 1 / 1 0 0 1", "1 1 0 0 / 1 1 0 0", ""}},
    {"equal labels are right",
     "(S (ADVP (RB out)) (N x))",
     "(S (PRT (RB out)) (N x))",
     "",
     {"ADVP", "PRT", "S"},
     {"1 1 0 0 / 0 0 0 0", "0 0 0 0 / 1 1 0 0", "1 1 0 0 / 1 1 0 0"}},
    {"function tags",
     "(S (NP-SBJ (N x) (N y)) (N z))",
     "(S (VP=2 (N x) (N y)) (N z))",
     "NP->VP 1",
     {"NP", "VP", "NP-SBJ"},
     {"1 0 1 0 / 0 0 0 0", "0 0 0 0 / 1 0 1 0", ""}},
    {"an error does not count", DOG, "(S (NP (DT the)))", "", {"NP", "S", "VP"}, {"", "", ""}},
};

static void check_examples(void)
{
    for (size_t i = 0; i < LENGTH(examples); i++) {
        const example *x = &examples[i];
        confusion c = {0};
        printf("%s\n", x->what);
        count(&x->gold, &x->test, 1, &c);
        CHECK_TEXT(pairs_of(&c), x->pairs);
        for (int k = 0; k < 3; k++) CHECK_TEXT(counts_of(&c, x->label[k]), x->counts[k]);
        confusion_free(&c);
    }
}

static void check_text(void)
{
    static const char *const gold[] = {"(S (NP (N x) (N y)) (N z))", "(S (NP (N x) (N y)) (N z))",
                                       "(S (NP (N x) (N y)) (N z))", "(S (A (N x) (N y)) (N z))"};
    static const char *const test[] = {"(S (VP (N x) (N y)) (N z))", "(S (VP (N x) (N y)) (N z))",
                                       "(S (NP (N x) (N y)) (N z))", "(S (NP (N x) (N y)) (N z))"};
    confusion c = {0};
    err e = {0};
    str out = {0};
    count(gold, test, 4, &c);
    CHECK_TEXT(pairs_of(&c), "NP->VP 2, A->NP 1");
    confusion_text(&c, 1, &out);
    /* NP matches 1 of 3 gold brackets and 1 of 2 in the test tree: 2 * 1 / (3 + 2) */
    CHECK_HAS(out.s, "\nS                4       4       0       0       4        0  100.00  100.00  100.00\n"
                     "NP               3       1       2       0       2        0   33.33   50.00   40.00\n"
                     "A                1       0       1       0       0        0    0.00    0.00    0.00\n"
                     "VP               0       0       0       0       2        0    0.00    0.00    0.00\n");
    CHECK_HAS(out.s, " gold -> test --\n      2  NP -> VP\nand 1 more pairs\n");
    str_clear(&out);
    confusion_json(&c, 9, &out);
    CHECK_HAS(out.s, "{\"label\":\"NP\",\"gold\":3,\"right\":1,\"taken\":2,\"missed\":0,\"found\":2,"
                     "\"found_right\":1,\"found_taken\":1,\"spurious\":0,\"recall\":33.333333333333336,"
                     "\"precision\":50,\"f1\":40}");
    CHECK_HAS(out.s, "\"taken\":[{\"gold\":\"NP\",\"test\":\"VP\",\"n\":2},{\"gold\":\"A\",\"test\":\"NP\",\"n\":1}]");
    confusion_free(&c);
    str_clear(&out);
    count((const char *const[]){"( (S (N x)))"}, (const char *const[]){"(ROOT (S (N x)))"}, 1, &c);
    confusion_text(&c, 1, &out);
    CHECK_HAS(out.s, "\n(none)           1       0       1       0       0        0    0.00    0.00    0.00\n");
    CHECK_HAS(out.s, "      1  (none) -> ROOT\n");
    str_free(&out);
    confusion_free(&c);
    CHECK_INT(confusion_count(&collins, (const char *const[]){"(S (N x)"}, test, 1, &c, &e), -1);
    CHECK_HAS(e.text, "line 1: column 1: a bracket that is never closed");
}

static void check_lengths(void)
{
    /* a tree with an error matches nothing; its gold brackets count only strictly */
    static const evalb_row rows[] = {
        {.length = 1, .matched = 1, .gold = 1, .test = 1, .gold_all = 1},
        {.length = 10, .matched = 2, .gold = 5, .test = 3, .gold_all = 5},
        {.length = 11, .matched = 4, .gold = 8, .test = 8, .gold_all = 8},
        {.length = 20, .status = EVALB_ERROR, .gold_all = 8},
        {.length = 30, .matched = 1, .gold = 1, .test = 3, .gold_all = 1},
        {.length = 40, .matched = 1, .gold = 3, .test = 1, .gold_all = 3},
        {.length = 41, .matched = 2, .gold = 2, .test = 2, .gold_all = 2},
        {.length = 300, .matched = 0, .gold = 2, .test = 2, .gold_all = 2},
    };
    str out = {0};
    by_length_text(rows, LENGTH(rows), &out);
    CHECK_HAS(out.s, "\n1-10         2       2   50.00   75.00   60.00   60.00\n" /* recall 3 of 6, precision 3 of 4 */
                     /* 4 of 8; strictly F1 is 2 * 4 / (16 + 8) */
                     "11-20        2       1   50.00   50.00   50.00   33.33\n"
                     "21-30        1       1  100.00   33.33   50.00   50.00\n"
                     "31-40        1       1   33.33  100.00   50.00   50.00\n"
                     "41+          2       2   50.00   50.00   50.00   50.00\n");
    str_clear(&out);
    by_length_json(rows, LENGTH(rows), &out);
    CHECK_HAS(out.s, "\"by_length\":[{\"words\":\"1-10\",\"sentences\":2,\"valid\":2,\"recall\":50,\"precision\":75,"
                     "\"f1\":60,\"strict_f1\":60},{\"words\":\"11-20\",\"sentences\":2,\"valid\":1,");
    str_clear(&out);
    by_length_text(rows, 0, &out);
    CHECK_HAS(out.s, "\n41+          0       0    0.00    0.00    0.00    0.00\n");
    str_free(&out);
}

int main(void)
{
    evalb_params_default(&collins);
    check_examples();
    check_text();
    check_lengths();
    evalb_params_free(&collins);
    return test_end();
}
